"""Small, complete objects for tests; every argument has a sensible default."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from etprof.core.plan import Experiment, Pair, Plan, Schedule
from etprof.core.run import BlockResult, DeviceInfo, Session


def a_plan(root: Path = Path("run"), *, blocks: int = 4, **schedule: Any) -> Plan:
    return Plan(
        model=root.parent / "model.pte",
        output_root=root,
        experiments=(
            Experiment("off", hide_isa=("avx512",), runs=5, traced_runs=2),
            Experiment("on", runs=5, traced_runs=2),
        ),
        pairs=(Pair("off", "on"),),
        schedule=replace(Schedule(), **{"blocks": blocks, "max_blocks": blocks, "retries": 0, **schedule}),
    )


def a_device_info(**changes: Any) -> DeviceInfo:
    return replace(DeviceInfo("this machine", "Linux 6", "x86_64", "A CPU", 2, ("avx2", "avx512f")), **changes)


def a_result(experiment: str = "on", index: int = 0, median_ms: float = 2.0, **changes: Any) -> BlockResult:
    """A good block whose five iterations lie around the median."""
    times = tuple(int(median_ms * 1e6 * factor) for factor in (0.98, 0.99, 1.0, 1.01, 1.02))
    result = BlockResult(
        experiment=experiment,
        threads=1,
        index=index,
        runner="native",
        threads_in_force=1,
        load_ns=700_000,
        warmup_ns=(times[2] * 3 // 2, times[2]),
        warmup_steady=True,
        latency_ns=times,
        traced_ns=times,
        peak_bytes=1 << 20,
        etdump=f"{experiment}/{experiment}_t1.etdump",
        log=f"{experiment}/{experiment}_t1.log",
    )
    return replace(result, **changes)


def a_session(plan: Plan | None = None, results: tuple[BlockResult, ...] = (), **changes: Any) -> Session:
    session = Session(
        plan=plan or a_plan(),
        device=a_device_info(),
        model_sha256="0" * 64,
        inputs_sha256=("1" * 64,),
        export_meta={"dtype": "fp32"},
        versions={"etprof": "0.1.0"},
        command="etprof run",
        started_at="2026-01-01T00:00:00+00:00",
        stop_reason="all planned rounds were run",
        results=results,
    )
    return replace(session, **changes)


def paired_results(off_ms: list[float], on_ms: list[float]) -> tuple[BlockResult, ...]:
    """Blocks of the two arms of `a_plan`, with these medians."""
    pairs = zip(off_ms, on_ms, strict=True)
    return tuple(a_result(n, i, m) for i, (off, on) in enumerate(pairs) for n, m in (("off", off), ("on", on)))
