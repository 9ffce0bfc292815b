"""The phases of a workload as records with plain values, the same in files and for programs."""

from collections.abc import Iterator
from typing import NamedTuple

from etprof.core.phases import PhaseResult, Phases, PhaseVariant


class PhaseRecord(NamedTuple):
    """One phase of one variant, or its whole sequence.

    Times are those of a step, with their interval, and of all steps of a sequence. `growth` is the change from the
    first step to the last as a share. Speed-up is that over the variant it is compared with, `baseline`.
    """

    experiment: str
    threads: int
    phase: str
    method: str
    steps: int
    tokens: int
    blocks: int
    sequences: int
    step_ms: float | None
    step_low_ms: float | None
    step_high_ms: float | None
    sequence_ms: float | None
    mean_ms: float | None
    share: float | None
    gaps_ms: float | None
    growth: float | None
    growth_low: float | None
    growth_high: float | None
    shape: str
    baseline: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    verdict: str
    kernels: str


class StepRecord(NamedTuple):
    """A step of a phase, or neighbours from `step` on; times are the median, the lowest and the highest of blocks."""

    experiment: str
    threads: int
    phase: str
    step: int
    position: int
    median_ms: float
    low_ms: float
    high_ms: float


class PhaseCategoryRecord(NamedTuple):
    """One category of one variant in one phase, per traced step; of a whole sequence, per sequence."""

    experiment: str
    threads: int
    phase: str
    name: str
    mean_ms: float
    share: float
    events_per_run: float


class PhaseOperatorRecord(NamedTuple):
    """One operator of one variant in one phase, per traced step."""

    experiment: str
    threads: int
    phase: str
    identity: str
    name: str
    module_path: str
    category: str
    subcategory: str
    delegated: bool
    kernels: str
    # The column has this name in report.csv, too.
    count: int  # type: ignore[assignment]
    mean_ms: float
    median_ms: float
    share: float
    kind: str


def list_phases(phases: Phases) -> Iterator[PhaseRecord]:
    for row in phases.rows:
        for each in row.variants:
            yield from _describe(row, each)


def _describe(row: PhaseResult, each: PhaseVariant) -> Iterator[PhaseRecord]:
    """A record for each comparison, or one without."""
    growth = each.curve.growth if each.curve else None
    record = PhaseRecord(
        experiment=each.experiment,
        threads=each.threads,
        phase=row.name,
        method=row.method,
        steps=row.steps,
        tokens=row.tokens,
        blocks=each.blocks,
        sequences=each.sequences,
        step_ms=each.step_ms,
        step_low_ms=each.step.low if each.step else None,
        step_high_ms=each.step.high if each.step else None,
        sequence_ms=each.sequence_ms,
        mean_ms=each.mean_ms,
        share=each.share,
        gaps_ms=each.gaps_ms,
        growth=growth.value if growth else None,
        growth_low=growth.low if growth else None,
        growth_high=growth.high if growth else None,
        shape=each.curve.shape.value if each.curve else "",
        baseline="",
        speedup=None,
        speedup_low=None,
        speedup_high=None,
        verdict="",
        kernels=each.kernels.verdict if each.kernels else "",
    )
    compared = [comparison for comparison in row.comparisons if comparison.candidate == each.variant]
    for comparison in compared:
        speedup = comparison.speedup
        yield record._replace(
            baseline=comparison.baseline.stem,
            speedup=speedup.value if speedup else None,
            speedup_low=speedup.low if speedup else None,
            speedup_high=speedup.high if speedup else None,
            verdict=comparison.verdict.value,
        )
    if not compared:
        yield record


def list_steps(phases: Phases) -> Iterator[StepRecord]:
    for row in phases.rows:
        for each in row.variants:
            if curve := each.curve:
                columns = (curve.first_steps, curve.positions, curve.median_ms, curve.low_ms, curve.high_ms)
                for values in zip(*columns, strict=True):
                    yield StepRecord(each.experiment, each.threads, row.name, *values)


def list_phase_categories(phases: Phases) -> Iterator[PhaseCategoryRecord]:
    for row in phases.rows:
        for each in row.variants:
            for part in each.categories:
                yield PhaseCategoryRecord(
                    each.experiment, each.threads, row.name, part.name, part.mean_ms, part.share, part.events_per_run
                )


def list_phase_operators(phases: Phases) -> Iterator[PhaseOperatorRecord]:
    for row in phases.rows:
        for each in row.variants:
            for operator in each.operators:
                yield PhaseOperatorRecord(
                    experiment=each.experiment,
                    threads=each.threads,
                    phase=row.name,
                    identity=str(operator.identity),
                    name=operator.name,
                    module_path=operator.module_path,
                    category=operator.category,
                    subcategory=operator.subcategory,
                    delegated=operator.delegated,
                    kernels="; ".join(kernel.name for kernel in operator.kernels),
                    count=operator.count,
                    mean_ms=operator.mean_ms,
                    median_ms=operator.median_ms,
                    share=operator.share,
                    kind=operator.kind,
                )
