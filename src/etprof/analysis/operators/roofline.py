"""The roofline of a variant: each operator against what the CPU can do, and the shortest time of an inference.

Williams, Waterman and Patterson, Roofline: an insightful visual performance model for multicore architectures,
Communications of the ACM 52(4), 2009. The bound of the memory is that of the smallest level that holds all the bytes of
an operator: a bound that holds wherever the operators before it left them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from etprof.analysis.operators.rollups import KIND, MODULE, name_group
from etprof.core.loaded_run import LoadedRun
from etprof.core.operators import OperatorId
from etprof.core.peaks import (
    BF16,
    FP16,
    FP32,
    INT8,
    L1,
    L2,
    MEMORY,
    PEAK_LOOPS,
    PeakLoop,
    Peaks,
    best_of,
)
from etprof.core.report import Report, VariantReport
from etprof.core.roofline import COMPUTE, OVERHEAD, Roof, Roofline, RooflineGroup, RooflineRow
from etprof.core.rows import OperatorRow
from etprof.core.work import SHORTEST_RATED_MS, Work

# Numbers of a type can be computed with as another: fp16 without instructions of its own is converted to fp32.
_COMPUTED_AS = {FP32: (FP32,), FP16: (FP16, FP32), BF16: (BF16, FP32), "fp64": (FP32,)}
_PER_MS = 1e6
_OVERHEAD_RATIO = 2.0
# The same bytes under another shape: nothing has to be moved.
_VIEW = "reshape"


@dataclass(frozen=True)
class _Ceiling:
    """`slots_per_ms` are multiply-adds, or single operations: either takes one instruction."""

    label: str
    is_executed: bool
    slots_per_ms: float


def add_rooflines(report: Report, run: LoadedRun) -> Report:
    """For the variants whose operators have times and work, on a CPU whose peaks are known."""
    return replace(report, variants=tuple(add_roofline(variant, run) for variant in report.variants))


def add_roofline(variant: VariantReport, run: LoadedRun) -> VariantReport:
    """Before kernels are known its ceilings are those of the best instructions that the variant could use."""
    peaks = run.of(variant.variant).peaks
    return replace(variant, roofline=build_roofline(variant, peaks)) if peaks else variant


def build_roofline(variant: VariantReport, peaks: Peaks, *, is_own: bool = True) -> Roofline | None:
    """`is_own` is false where the peaks are those of another CPU than the times."""
    loops = [loop for loop in PEAK_LOOPS[peaks.architecture] if not set(loop.features) & set(variant.features_hidden)]
    weights = _weigh(variant)
    found = [
        (row, point)
        for row in variant.operators
        if (point := _place(row, peaks, loops, variant.threads, is_own=is_own))
    ]
    if not found:
        return None
    bounds_ms: dict[str, float] = {}
    for row, point in found:
        bounds_ms[point.bound] = bounds_ms.get(point.bound, 0.0) + point.mean_ms * weights[row.identity]
    return Roofline(
        rows=tuple(sorted((point for _, point in found), key=lambda point: -point.lost_ms)),
        groups={by: _group(found, by, weights) for by in (KIND, MODULE)},
        compute=_list_compute(peaks, loops, [point for _, point in found], variant.threads),
        memory=_list_memory(peaks, variant.threads),
        mean_ms=sum(row.mean_ms * weights[row.identity] for row in variant.operators),
        covered_ms=sum(point.mean_ms * weights[row.identity] for row, point in found),
        floor_ms=sum(point.floor_ms * weights[row.identity] for row, point in found),
        bounds_ms=bounds_ms,
    )


def _weigh(variant: VariantReport) -> dict[OperatorId, float]:
    """How often an operator executes in an inference: less than once where there are several kinds of inferences."""
    runs = variant.accounting.runs if variant.accounting else 0
    return {row.identity: row.count / runs if runs else 1.0 for row in variant.operators}


def _place(
    row: OperatorRow, peaks: Peaks, loops: Sequence[PeakLoop], threads: int, *, is_own: bool
) -> RooflineRow | None:
    work = row.work
    if work is None or work.operations is None or work.minimal_bytes is None:
        return None
    ceiling = _find_ceiling(row, work, peaks, loops, threads)
    if work.operations and ceiling is None:
        return None
    slots = work.macs or work.operations
    compute_ms = slots / ceiling.slots_per_ms if ceiling else 0.0
    level, memory_ms = _find_memory_bound(0 if work.kind == _VIEW else work.minimal_bytes, peaks, threads)
    floor_ms = max(compute_ms, memory_ms)
    # What an operator was faster than is no bound: XNNPACK omits some, and counts whole microseconds of others.
    floor_ms = min(floor_ms, row.mean_ms) if is_own else floor_ms
    bound = COMPUTE if compute_ms >= memory_ms and work.operations else level
    if floor_ms < SHORTEST_RATED_MS and row.mean_ms > _OVERHEAD_RATIO * floor_ms:
        bound = OVERHEAD
    time_ms = max(row.mean_ms, SHORTEST_RATED_MS)
    return RooflineRow(
        identity=row.identity,
        name=row.name,
        kind=row.kind,
        category=row.category,
        module_path=row.module_path,
        mean_ms=row.mean_ms,
        operations=work.operations,
        minimal_bytes=work.minimal_bytes,
        gop_per_s=work.operations / time_ms / _PER_MS,
        gb_per_s=work.minimal_bytes / time_ms / _PER_MS,
        intensity=work.operations / work.minimal_bytes if work.minimal_bytes else 0.0,
        ceiling=ceiling.label if ceiling else "",
        is_executed=ceiling.is_executed if ceiling else False,
        ceiling_gop_per_s=work.operations / slots * ceiling.slots_per_ms / _PER_MS if ceiling else 0.0,
        floor_ms=floor_ms,
        bound=bound,
    )


def _find_ceiling(
    row: OperatorRow, work: Work, peaks: Peaks, loops: Sequence[PeakLoop], threads: int
) -> _Ceiling | None:
    """By the instructions that it was seen to execute, else by the best that it could have; None without operations."""
    if not work.operations:
        return None
    types = _COMPUTED_AS.get(work.data_type, (INT8,))
    fitting = [loop for loop in loops if loop.data_type in types]
    executed = {kernel.instruction_class for kernel in row.kernels}
    seen = best_of(peaks, (loop for loop in fitting if loop.instruction_class in executed), threads)
    able = (loop for loop in fitting if not loop.multiplies_matrices or _multiplies_matrices(work))
    found = seen or best_of(peaks, able, threads)
    return _Ceiling(found[0].label, seen is not None, found[1].value * _PER_MS) if found else None


def _multiplies_matrices(work: Work) -> bool:
    return bool(work.macs) and "depthwise" not in work.kind


def _find_memory_bound(count: int, peaks: Peaks, threads: int) -> tuple[str, float]:
    """The smallest level that holds so many bytes, and the time they take from there."""
    for level in peaks.levels:
        bandwidth = peaks.find_bandwidth(level, threads)
        cores = threads if level in (L1, L2) else 1
        if bandwidth and (level == MEMORY or count <= peaks.cache_bytes.get(level, 0) * cores):
            return level, count / bandwidth.value / _PER_MS
    return MEMORY, 0.0


def _group(
    found: Iterable[tuple[OperatorRow, RooflineRow]], by: str, weights: Mapping[OperatorId, float]
) -> tuple[RooflineGroup, ...]:
    members: dict[str, list[tuple[float, RooflineRow]]] = {}
    for row, point in found:
        members.setdefault(name_group(row, by), []).append((weights[row.identity], point))
    groups = [
        RooflineGroup(
            name,
            len(own),
            sum(weight * point.mean_ms for weight, point in own),
            sum(weight * point.floor_ms for weight, point in own),
        )
        for name, own in members.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.lost_ms))


def _list_compute(
    peaks: Peaks, loops: Iterable[PeakLoop], points: Collection[RooflineRow], threads: int
) -> tuple[Roof, ...]:
    """The ceilings of the operators that multiply and add, two operations at a time."""
    used = {point.ceiling for point in points}
    rates = [(loop.label, peaks.find_throughput(loop.name, threads)) for loop in loops if loop.label in used]
    return tuple(Roof(label, 2 * rate.value) for label, rate in rates if rate)


def _list_memory(peaks: Peaks, threads: int) -> tuple[Roof, ...]:
    rates = [(level, peaks.find_bandwidth(level, threads)) for level in peaks.levels]
    return tuple(Roof(level, rate.value) for level, rate in rates if rate)
