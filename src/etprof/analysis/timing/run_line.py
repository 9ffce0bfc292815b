"""Puts the blocks of a run on one time line, with the frequencies and temperatures that were read in them."""

from collections.abc import Sequence
from datetime import datetime

from etprof.core.report import Counter, RunLine, Slice
from etprof.core.run import BlockResult, CpuState, Session
from etprof.core.units import NS_PER_S

_KHZ_PER_MHZ = 1000


def build_run_line(sessions: Sequence[Session]) -> RunLine | None:
    """Each state of the device stands at the start or the end of its block; None where no block says when it ran."""
    found = [(_find_start(result), result) for session in sessions for result in session.results if result.is_ok]
    timed = sorted(((started, result) for started, result in found if started), key=lambda each: each[0])
    blocks: list[Slice] = []
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    reached = 0
    for started, result in timed:
        # Starts are known to the second, lengths to the millisecond: a block begins when the one before has ended.
        start = max(round((started - timed[0][0]).total_seconds() * NS_PER_S), reached)
        duration = round(result.duration_s * NS_PER_S)
        reached = start + duration
        blocks.append(Slice(result.name, result.variant.label, "", 0, start, duration))
        for at, state in ((start, result.cpu_before), (reached, result.cpu_after)):
            for key, value in _quantities(state).items():
                points.setdefault(key, []).append((at, value))
    counters = tuple(Counter(name, unit, tuple(values)) for (name, unit), values in sorted(points.items()))
    return RunLine(tuple(blocks), counters) if blocks else None


def _quantities(state: CpuState) -> dict[tuple[str, str], float]:
    found = {(f"frequency of core {core}", "MHz"): khz / _KHZ_PER_MHZ for core, khz in state.frequencies_khz.items()}
    if state.temperature_c is not None:
        found["temperature", "°C"] = state.temperature_c
    return found


def _find_start(result: BlockResult) -> datetime | None:
    """None where the block does not say it, or not with its time zone."""
    try:
        start = datetime.fromisoformat(result.started_at)
    except ValueError:
        return None
    return start if start.tzinfo else None
