"""Memory, starts and activation plans as rows with plain values, for tables of programs."""

from collections.abc import Iterator
from typing import NamedTuple

from etprof.core.memory import ActivationPlan
from etprof.core.report import VariantReport

PART, STAGE, START = "memory", "stage", "start"


class MemoryRecord(NamedTuple):
    """A part of the peak (`memory`), a stage of a start (`stage`), or a stage's duration (`start`)."""

    experiment: str
    threads: int
    level: str
    name: str
    bytes: int | None = None
    pss_bytes: int | None = None
    share: float | None = None
    duration_ms: float | None = None
    model_file: str = ""


class LiveRecord(NamedTuple):
    """What is alive while one operator of a program runs."""

    model: str
    method: str
    number: int
    operator: str
    live_bytes: int


def list_memory(variant: VariantReport) -> Iterator[MemoryRecord]:
    memory = variant.memory
    if memory is None:
        return
    own = variant.experiment, variant.threads
    for part in memory.parts:
        yield MemoryRecord(*own, PART, part.name, part.bytes, share=part.share)
    for stage in memory.stages:
        yield MemoryRecord(*own, STAGE, stage.name, stage.rss_bytes, stage.pss_bytes)
    for start in memory.starts:
        for each in start.stages:
            yield MemoryRecord(*own, START, each.name, duration_ms=each.duration_ms, model_file=start.cached.value)


def list_live(plan: ActivationPlan) -> Iterator[LiveRecord]:
    for number, (operator, live) in enumerate(zip(plan.operators, plan.live_bytes, strict=True), start=1):
        yield LiveRecord(plan.model, plan.method, number, operator, live)
