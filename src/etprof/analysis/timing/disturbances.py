"""What disturbed a block while it was timed: threads without cores, a frequency that moved, heat."""

from collections.abc import Iterable, Sequence

from etprof.core.findings import Finding, FindingKind
from etprof.core.run import BlockResult, CpuState, DeviceInfo
from etprof.core.units import format_count, format_percent

_WAITED = 0.10
# Where waiting is not reported. A lone thread has nothing to wait for but its core. The first of several also sleeps
# while it waits for the others, so less is asked of it.
_ABSENT_ALONE = 0.10
_ABSENT = 0.25
# A thread that ran for less of the time has slept on an idle core, whose frequency says nothing.
_BUSY = 0.10
_FREQUENCY_MOVED = 0.10
_FREQUENCY_DOUBTED = 0.05
_HOT_C = 95.0


def find_disturbance(result: BlockResult, cpu_count: int) -> str:
    """Why a successful block should be run again, as a phrase; empty when nothing readable says so."""
    if not result.is_ok or not result.latency_ns:
        return ""
    moved = measure_frequency_change(result)
    if moved > _FREQUENCY_MOVED:
        return f"the CPU frequency moved by {format_percent(moved)}"
    if max(result.cpu_before.temperature_c or 0.0, result.cpu_after.temperature_c or 0.0) > _HOT_C:
        return f"the CPU was hotter than {_HOT_C:g} C"
    # More threads than cores lack them again in every try.
    return find_core_shortage(result)[1] if result.threads <= count_usable_cores(result, cpu_count) else ""


def find_disturbed_blocks(label: str, results: Sequence[BlockResult], device: DeviceInfo) -> Iterable[Finding]:
    """What the blocks of a variant lacked; nothing where times are not real, since it could not have changed them."""
    if not results or not device.times_are_real:
        return
    usable, threads = min(count_usable_cores(r, device.cpu_count) for r in results), results[0].threads
    if threads > usable:
        yield Finding(
            FindingKind.TOO_MANY_THREADS,
            f"{label}: there {'is' if usable == 1 else 'are'} only {format_count(usable, 'usable core')}, so the "
            "threads took turns.",
            "Use at most as many threads as there are usable cores: see cpu_affinity and the CPU quota.",
        )
    short = [(share, phrase) for share, phrase in map(find_core_shortage, results) if phrase]
    if short:
        yield Finding(
            FindingKind.CORES_MISSING,
            f"{label}: in {len(short)} of {format_count(len(results), 'block')} the threads did not have their cores: "
            f"{max(short)[1]}.",
            "Use fewer threads, stop other programs, or keep the block to cores of its own with cpu_affinity.",
        )
    moved = max(map(measure_frequency_change, results))
    if moved > _FREQUENCY_DOUBTED:
        yield Finding(
            FindingKind.FREQUENCY_MOVED,
            f"{label}: the CPU frequency changed by up to {format_percent(moved)} within a block.",
            "Set the performance governor, or let the machine cool.",
        )


def count_usable_cores(result: BlockResult, cpu_count: int) -> int:
    """Those that the block was kept to, and no more than the device has for it."""
    return min(len(result.cpu_affinity) or cpu_count, cpu_count)


def find_core_shortage(result: BlockResult) -> tuple[float, str]:
    """The largest share of the time that a thread lacked a core, and a phrase that says so.

    Nothing where none did for long, or where the system does not tell.
    """
    time = result.cpu_time
    if time is None or not time.threads or time.wall_ns <= 0:
        return 0.0, ""
    waits = [thread.waited_ns for thread in time.threads if thread.waited_ns is not None]
    if waits:
        waited = max(waits) / time.wall_ns
        return waited, f"a thread waited for a core {format_percent(waited)} of the time" if waited > _WAITED else ""
    absent = 1 - time.threads[0].ran_ns / time.wall_ns
    if absent > (_ABSENT_ALONE if result.threads == 1 else _ABSENT):
        return absent, f"the main thread was not running {format_percent(absent)} of the time"
    return absent, ""


def measure_frequency_change(result: BlockResult) -> float:
    """The largest change of the frequency under a busy thread, wherever it ran, between the two readings."""
    time = result.cpu_time
    if time is None:
        return 0.0
    pairs = [
        (_frequency(result.cpu_before, thread.core_before), _frequency(result.cpu_after, thread.core_after))
        for thread in time.threads
        if thread.ran_ns > _BUSY * time.wall_ns
    ]
    return max((abs(after - before) / before for before, after in pairs if before and after), default=0.0)


def _frequency(state: CpuState, core: int | None) -> int | None:
    return None if core is None else state.frequencies_khz.get(core)
