"""The memory of a variant: what it holds at each stage of its start, what its peak is made of, and how long it takes.

Anonymous memory has no name in the system. It is told apart by when it came: what is there before the program is the
runtime's; what comes with the method is the program's planned buffers, whose size is known, and what the backend
packed; what comes with the first inference is the backend's workspace. Each part is at most what is left of the peak,
so that the parts add up to it whatever was given back in between.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from etprof.core.memory import (
    FIRST,
    INPUTS,
    LIBRARIES,
    LIBRARY_PART,
    METHOD,
    MODEL_FILE,
    OTHER_FILES,
    PACKED,
    PACKED_FILE,
    PACKING,
    PLANNED,
    PROGRAM,
    RUNNER_DATA,
    RUNTIME,
    STAGES,
    STEADY,
    TIMED_STAGES,
    UNATTRIBUTED,
    WORKSPACE,
    Cached,
    LoadStage,
    MemoryPart,
    MemoryUse,
    StageMemory,
    Start,
    StartStage,
    classify_cached,
    find_stage,
)
from etprof.core.plan import Schedule
from etprof.core.run import BlockResult
from etprof.core.units import NS_PER_MS


def describe_memory(
    results: Sequence[BlockResult],
    planned_bytes: int | None = None,
    *,
    schedule: Schedule | None = None,
    times_are_real: bool = True,
) -> MemoryUse | None:
    """None where no block says what it held. `planned_bytes` are those of the program, for runners that do not tell."""
    known = [r for r in results if r.peak_bytes]
    if not known:
        return None
    highest = max(known, key=lambda r: r.peak_bytes or 0)
    peak = highest.peak_bytes or 0
    peaks = tuple(r.peak_bytes or 0 for r in known)
    if not times_are_real:
        # The memory of an emulator is in every number, and its stages take no meaningful time.
        return MemoryUse(peak, peaks)
    return MemoryUse(
        peak_bytes=peak,
        block_peaks=peaks,
        parts=split_peak(highest.stages, peak, highest.planned_bytes or planned_bytes or 0),
        stages=tuple(_summarize_stages(known)),
        starts=tuple(_list_starts(known)),
        stayed_cached=sum(_stayed_cached(r, schedule) for r in known) if schedule else 0,
    )


def _stayed_cached(result: BlockResult, schedule: Schedule) -> bool:
    stayed = classify_cached(result.cached_share) in (Cached.IN, Cached.PARTLY)
    return stayed and bool(result.latency_ns) and schedule.cache_of(result.index) == "out"


def split_peak(stages: Sequence[LoadStage], peak_bytes: int, planned_bytes: int) -> tuple[MemoryPart, ...]:
    """Parts that add up to the peak, the largest first; none where the system does not say what memory is for."""
    split = [stage for stage in stages if stage.anonymous_bytes is not None and stage.rss_bytes]
    if not split or not peak_bytes:
        return ()
    fullest = max(split, key=lambda stage: stage.rss_bytes or 0)
    sizes = {
        MODEL_FILE: fullest.model_bytes or 0,
        LIBRARY_PART: fullest.library_bytes or 0,
        PACKED_FILE: fullest.cache_bytes or 0,
        OTHER_FILES: fullest.file_bytes or 0,
        **_split_anonymous(split, fullest, planned_bytes),
    }
    # A peak that is lower than what was read page by page is the system's delay in counting.
    sizes[UNATTRIBUTED] = max(0, peak_bytes - sum(sizes.values()))
    parts = [MemoryPart(name, size, size / peak_bytes) for name, size in sizes.items() if size]
    return tuple(sorted(parts, key=lambda part: (part.name == UNATTRIBUTED, -part.bytes)))


def _split_anonymous(stages: Sequence[LoadStage], fullest: LoadStage, planned_bytes: int) -> dict[str, int]:
    def held(name: str, otherwise: str) -> int:
        found = find_stage(stages, name) or find_stage(stages, otherwise)
        return (found.anonymous_bytes or 0) if found else 0

    before, loaded = held(PROGRAM, LIBRARIES), held(METHOD, PACKING)
    is_loading = fullest.name in (PACKING, METHOD)
    grown = {
        RUNTIME: before,
        PLANNED: planned_bytes,
        PACKED: (fullest.anonymous_bytes or 0 if is_loading else loaded) - before - planned_bytes,
        WORKSPACE: 0 if is_loading else held(FIRST, STEADY) - held(INPUTS, METHOD),
    }
    left, parts = fullest.anonymous_bytes or 0, {}
    for name, size in grown.items():
        parts[name] = min(max(size, 0), left)
        left -= parts[name]
    return {**parts, RUNNER_DATA: left}


def _summarize_stages(results: Sequence[BlockResult]) -> Iterator[StageMemory]:
    for name in STAGES:
        found = [stage for r in results if (stage := find_stage(r.stages, name))]
        rss = _median([stage.rss_bytes for stage in found])
        if rss is not None:
            pss, peak = (_median(each) for each in ([s.pss_bytes for s in found], [s.peak_bytes for s in found]))
            yield StageMemory(name, rss, pss, peak)


def _list_starts(results: Sequence[BlockResult]) -> Iterator[Start]:
    for cached in Cached:
        blocks = [r for r in results if r.stages and classify_cached(r.cached_share) is cached]
        if blocks:
            yield Start(cached, len(blocks), tuple(_time_stage(blocks, name) for name in TIMED_STAGES))


def _time_stage(results: Sequence[BlockResult], name: str) -> StartStage:
    found = (find_stage(r.stages, name) for r in results)
    times = [stage.duration_ns for stage in found if stage and stage.duration_ns is not None]
    return StartStage(name, median(times) / NS_PER_MS if times else None)


def _median(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(median(known)) if known else None
