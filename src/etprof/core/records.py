"""The tables of a report as records with plain values: what files hold and programs read has the same columns."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import NamedTuple

from etprof.core.exploration import Choice
from etprof.core.forecast import Forecast
from etprof.core.peaks import Peaks
from etprof.core.plan import Variant
from etprof.core.report import Comparison, VariantReport
from etprof.core.rows import RollupRow
from etprof.core.scaling import Scaling
from etprof.core.work import describe_work


class LatencyRecord(NamedTuple):
    """One timed variant; the fields are those of its LatencySummary, and what it ran with which accuracy."""

    experiment: str
    threads: int
    blocks: int
    samples: int
    median_ms: float
    mad_ms: float
    mean_ms: float
    trimmed_mean_ms: float
    std_ms: float
    min_ms: float
    max_ms: float
    p5_ms: float
    p25_ms: float
    p75_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    outliers_mild: int
    outliers_severe: int
    cold_ms: float | None
    warmup_ms: float | None
    load_ms: float | None
    tracer_cost: float | None
    is_traced: bool
    model: str
    precision: str
    snr_db: float | None


class CategoryRecord(NamedTuple):
    """One category of one variant, per inference; the rows of a variant add up to its end-to-end time."""

    experiment: str
    threads: int
    name: str
    mean_ms: float
    share: float
    events_per_run: float


class OperatorRecord(NamedTuple):
    """One operator of one variant, per inference."""

    experiment: str
    threads: int
    identity: str
    name: str
    module_path: str
    category: str
    subcategory: str
    delegated: bool
    kernels: str
    # The column has this name in report.csv; that a tuple has a method of that name matters to nobody.
    count: int  # type: ignore[assignment]
    mean_ms: float
    median_ms: float
    share: float
    kind: str
    input_shape: str
    weight_shape: str
    output_shape: str
    macs: int | None
    minimal_bytes: int | None
    gmac_per_s: float | None


class RollupRecord(NamedTuple):
    """A group of operators of one variant, per inference; `by` says what they have in common."""

    experiment: str
    threads: int
    by: str
    name: str
    operators: int
    mean_ms: float
    share: float
    macs: int | None
    gmac_per_s: float | None


class ScalingRecord(NamedTuple):
    """One thread count of one experiment; speed-up and efficiency are against its fewest threads."""

    experiment: str
    threads: int
    latency_ms: float
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    efficiency: float | None
    step: str
    is_best: bool


class BuildRecord(NamedTuple):
    """One build at one thread count, or one that was not measured, with the reason."""

    experiment: str
    threads: int | None
    precision: str
    runtime: str
    standing: str
    latency_ms: float | None
    latency_low_ms: float | None
    latency_high_ms: float | None
    snr_db: float | None
    is_exact: bool
    metric: float | None
    meets_floors: bool
    file_bytes: int | None
    peak_bytes: int | None
    load_ms: float | None
    sme2_predicted: float | None
    blocks: int
    reason: str


class LayerRecord(NamedTuple):
    """One layer where it alone is quantised; times are those of its operators per inference."""

    module: str
    snr_db: float | None
    noise_share: float
    fp32_ms: float | None
    quantised_ms: float | None
    gain_ms: float | None


class RooflineRecord(NamedTuple):
    """One operator of one variant against the ceiling of its CPU, per inference."""

    experiment: str
    threads: int
    identity: str
    name: str
    kind: str
    module_path: str
    mean_ms: float
    floor_ms: float
    lost_ms: float
    share_of_ceiling: float
    bound: str
    ceiling: str
    is_executed: bool
    gop_per_s: float
    gb_per_s: float
    intensity: float
    operations: int
    minimal_bytes: int


class ForecastRecord(NamedTuple):
    """One operator on the CPU it ran on, and what to expect of it on another, per inference."""

    identity: str
    name: str
    kind: str
    category: str
    module_path: str
    measured_ms: float
    expected_ms: float
    low_ms: float
    high_ms: float
    basis: str
    is_eligible: bool


class PeakRecord(NamedTuple):
    """What a CPU can do at most: multiply-adds of a kind of instruction, or bytes of a level of the memory."""

    name: str
    access: str
    threads: int
    unit: str
    value: float
    low: float
    high: float


class VerdictRecord(NamedTuple):
    """One comparison; speed-up is baseline time / candidate time, from `low` to `high` with the stated confidence."""

    baseline: str
    baseline_threads: int
    candidate: str
    candidate_threads: int
    verdict: str
    speedup: float | None
    low: float | None
    high: float | None
    confidence: float | None
    noise_floor: float | None
    p_value: float | None
    output_difference: float | None
    reason: str


def list_latencies(variant: VariantReport) -> Iterator[LatencyRecord]:
    """One record, or none for a variant that was not timed."""
    if variant.latency:
        numbers = asdict(variant.latency)
        del numbers["block_medians_ms"]
        program = variant.program
        yield LatencyRecord(
            variant.experiment,
            variant.threads,
            **numbers,
            model=program.model if program else "",
            precision=program.precision if program else "",
            snr_db=program.snr_db if program else None,
        )


def list_categories(variant: VariantReport) -> Iterator[CategoryRecord]:
    for row in variant.categories:
        yield CategoryRecord(variant.experiment, variant.threads, row.name, row.mean_ms, row.share, row.events_per_run)


def list_operators(variant: VariantReport) -> Iterator[OperatorRecord]:
    for row in variant.operators:
        yield OperatorRecord(
            experiment=variant.experiment,
            threads=variant.threads,
            identity=str(row.identity),
            name=row.name,
            module_path=row.module_path,
            category=row.category,
            subcategory=row.subcategory,
            delegated=row.delegated,
            kernels="; ".join(kernel.name for kernel in row.kernels),
            count=row.count,
            mean_ms=row.mean_ms,
            median_ms=row.median_ms,
            share=row.share,
            kind=row.kind,
            gmac_per_s=row.gmac_per_s,
            **describe_work(row.work),
        )


def describe_rollup(variant: Variant, by: str, row: RollupRow) -> RollupRecord:
    return RollupRecord(
        variant.experiment, variant.threads, by, row.name, row.count, row.mean_ms, row.share, row.macs, row.gmac_per_s
    )


def list_rollups(variant: VariantReport) -> Iterator[RollupRecord]:
    for by, rows in variant.rollups.items():
        yield from (describe_rollup(variant.variant, by, row) for row in rows)


def list_roofline(variant: VariantReport) -> Iterator[RooflineRecord]:
    for row in variant.roofline.rows if variant.roofline else ():
        yield RooflineRecord(
            variant.experiment, variant.threads, row.identity, row.name, row.kind, row.module_path, row.mean_ms,
            row.floor_ms, row.lost_ms, row.share_of_ceiling, row.bound, row.ceiling, row.is_executed, row.gop_per_s,
            row.gb_per_s, row.intensity, row.operations, row.minimal_bytes,
        )  # fmt: skip


def list_forecast(forecast: Forecast) -> Iterator[ForecastRecord]:
    for row in forecast.rows:
        yield ForecastRecord(
            row.identity, row.name, row.kind, row.category, row.module_path, row.measured_ms, row.expected_ms,
            row.low_ms, row.high_ms, row.basis, row.is_eligible,
        )  # fmt: skip


def list_peaks(peaks: Peaks) -> Iterator[PeakRecord]:
    for each in peaks.throughputs:
        rate = each.gmac_per_s
        yield PeakRecord(each.loop, "", each.threads, "GMAC/s", rate.value, rate.low, rate.high)
    for speed in peaks.bandwidths:
        rate = speed.gb_per_s
        yield PeakRecord(speed.level, speed.access, speed.threads, "GB/s", rate.value, rate.low, rate.high)


def list_builds(choice: Choice) -> Iterator[BuildRecord]:
    for row in choice.rows:
        low, high = (row.latency.low, row.latency.high) if row.latency else (None, None)
        yield BuildRecord(
            row.experiment, row.threads, row.precision, row.runtime, str(row.standing), row.latency_ms, low, high,
            row.snr_db, row.is_exact, row.metric, row.meets_floors, row.file_bytes, row.peak_bytes, row.load_ms,
            row.sme2_predicted, row.blocks, row.reason,
        )  # fmt: skip


def list_layers(choice: Choice) -> Iterator[LayerRecord]:
    for row in choice.layers:
        yield LayerRecord(row.module, row.snr_db, row.noise_share, row.fp32_ms, row.quantised_ms, row.gain_ms)


def list_scaling(scaling: Scaling) -> Iterator[ScalingRecord]:
    for curve in scaling.curves:
        effects = {step.more: step.effect.value for step in curve.steps}
        for point in curve.points:
            yield ScalingRecord(
                experiment=curve.experiment,
                threads=point.threads,
                latency_ms=point.latency_ms,
                speedup=point.speedup.value if point.speedup else None,
                speedup_low=point.speedup.low if point.speedup else None,
                speedup_high=point.speedup.high if point.speedup else None,
                efficiency=point.efficiency.value if point.efficiency else None,
                step=effects.get(point.threads, ""),
                is_best=point.threads == curve.best and not curve.undecided,
            )


def describe_verdict(comparison: Comparison) -> VerdictRecord:
    speedup = comparison.speedup
    return VerdictRecord(
        baseline=comparison.baseline.experiment,
        baseline_threads=comparison.baseline.threads,
        candidate=comparison.candidate.experiment,
        candidate_threads=comparison.candidate.threads,
        verdict=comparison.verdict.value,
        speedup=speedup.value if speedup else None,
        low=speedup.low if speedup else None,
        high=speedup.high if speedup else None,
        confidence=speedup.confidence if speedup else None,
        noise_floor=comparison.noise_floor,
        p_value=comparison.p_value,
        output_difference=comparison.output_difference,
        reason=comparison.reason,
    )
