"""Numbers that no measurement gives: a device that says them, or a file that holds them, is not believed."""

import math
from collections.abc import Iterator
from dataclasses import astuple

from etprof.core.plan import MOST_CORES
from etprof.core.run import CpuState, RunnerResult

# A hundred days in nanoseconds; every whole number up to here is exact in a float, too.
_MOST_NS = 1 << 53
_MOST_STATE = 1_000_000
_MOST_STAGES = 100


def find_impossible(result: RunnerResult) -> str:
    """What of a result cannot be, as a phrase; empty for a possible one."""
    return next(_impossible(result), "")


def _impossible(result: RunnerResult) -> Iterator[str]:
    for times in (result.warmup_ns, result.latency_ns, result.traced_ns, _single_numbers(result)):
        if times and not 0 <= min(times) <= max(times) <= _MOST_NS:
            yield "a time or size is out of range"
    # An inference that took no time at all would make any other infinitely slower.
    if 0 in result.latency_ns:
        yield "an inference took no time"
    if not all(0 <= core < MOST_CORES for core in result.cpu_affinity):
        yield "a core is out of range"
    if result.cached_share is not None and not 0 <= result.cached_share <= 1:
        yield "a share is out of range"
    if len(result.stages) > _MOST_STAGES:
        yield "a start has too many stages"
    for state in (result.cpu_before, result.cpu_after):
        if not is_possible(state):
            yield "a state of the CPU is out of range"


def _single_numbers(result: RunnerResult) -> tuple[int, ...]:
    threads = result.cpu_time.threads if result.cpu_time else ()
    whole = (result.cpu_time.wall_ns, result.cpu_time.cpu_ns) if result.cpu_time else ()
    each = (number or 0 for thread in threads for number in (thread.ran_ns, thread.waited_ns))
    sizes = (size for output in result.outputs for size in output.shape)
    stages = (number for stage in result.stages for number in astuple(stage)[1:] if number is not None)
    memory = (result.peak_bytes or 0, result.planned_bytes or 0, *stages)
    return (result.load_ns or 0, result.threads_in_force or 0, *whole, *each, *sizes, *memory)


def is_possible(state: CpuState) -> bool:
    numbers = (state.load_average, state.temperature_c, state.battery_c, state.throttling, state.battery_percent)
    return all(n is None or (math.isfinite(n) and abs(n) <= _MOST_STATE) for n in numbers) and all(
        0 <= core < MOST_CORES and 0 <= khz <= _MOST_NS for core, khz in state.frequencies_khz.items()
    )
