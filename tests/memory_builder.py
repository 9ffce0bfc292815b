"""Blocks that say what they held in memory and how long their start took, for tests."""

from dataclasses import replace
from typing import Any

from builders import a_result
from etprof.core.memory import (
    FIRST,
    INPUTS,
    LIBRARIES,
    METHOD,
    PACKING,
    PROCESS,
    PROGRAM,
    STEADY,
    ActivationPlan,
    LoadStage,
    PlannedTensor,
)
from etprof.core.run import BlockResult

MIB = 1 << 20
MS = 1_000_000


def a_stage(
    name: str, anonymous: float, *, model: float = 0.0, ms: float | None = None, peak: float = 0.0
) -> LoadStage:
    """Sizes in MiB; libraries are 6 MiB, and half of everything is shared."""
    rss = round((anonymous + model + 6) * MIB)
    return LoadStage(
        name, None if ms is None else round(ms * MS), max(rss, round(peak * MIB)), rss, rss // 2, round(model * MIB),
        6 * MIB, 0, 0, rss - 6 * MIB - round(model * MIB),
    )  # fmt: skip


# 1 MiB of the program's own plan, 9 of packed weights, a model of 8, a workspace of 13.
STAGES = (
    a_stage(PROCESS, 0.1, ms=2), a_stage(LIBRARIES, 0.2, ms=3), a_stage(PROGRAM, 0.2, ms=0.5),
    a_stage(PACKING, 10.2, model=8), a_stage(METHOD, 10.2, ms=12), a_stage(INPUTS, 10.8), a_stage(FIRST, 23.8, ms=20),
    a_stage(STEADY, 24.0),
)  # fmt: skip


def a_block(experiment: str = "on", index: int = 0, *, cached: float | None = 1.0, **changes: Any) -> BlockResult:
    peak = max(stage.peak_bytes or 0 for stage in STAGES)
    known = {"stages": STAGES, "peak_bytes": peak, "planned_bytes": MIB, "cached_share": cached, **changes}
    return a_result(experiment, index, **known)


def slowed(stages: tuple[LoadStage, ...], factor: float) -> tuple[LoadStage, ...]:
    return tuple(replace(s, duration_ns=s.duration_ns and round(s.duration_ns * factor)) for s in stages)


PLAN = ActivationPlan(
    "model.pte", "forward", (264,), ("aten::relu.out", "XnnpackBackend", "aten::sum.out"), (120, 200, 140),
    (PlannedTensor("float32 [30]", 120, "XnnpackBackend"), PlannedTensor("float32 [20]", 80, "aten::relu.out")),
)  # fmt: skip
