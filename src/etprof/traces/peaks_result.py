"""A runner's answer to what its CPU can do, read into our own terms."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from etprof.core.peaks import ACCESSES, CLOCK, LEVELS, PEAK_LOOPS, CheckedLoop, PassRates, PeakPasses
from etprof.core.plan import MOST_CORES
from etprof.traces.runner_answers import RunnerAnswer, read_answer

_SCHEMA_VERSION = 1
_MOST_BYTES = 1 << 22
# More than any CPU does, in billions a second, and far more passes and loops than are asked for.
_MOST_RATE = 1e9
_MOST_PASSES = 1000
_MOST_LOOPS = 10_000
_LOOPS = frozenset({CLOCK, *(loop.name for loops in PEAK_LOOPS.values() for loop in loops)})

_Rate = Annotated[float, Field(gt=0, lt=_MOST_RATE)]
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]


class _Checked(BaseModel):
    name: str
    instructions: _Count
    macs: _Count
    sum: _Count


class _Measured(BaseModel):
    loop: str = ""
    level: str = ""
    access: str = ""
    threads: Annotated[int, Field(ge=1, lt=MOST_CORES)]
    rates: Annotated[tuple[_Rate, ...], Field(min_length=1, max_length=_MOST_PASSES)]

    @property
    def is_known(self) -> bool:
        return self.loop in _LOOPS or (self.level in LEVELS and self.access in ACCESSES)


class _PeaksResult(RunnerAnswer):
    caches: dict[str, _Count]
    checked: Annotated[tuple[_Checked, ...], Field(max_length=_MOST_LOOPS)]
    measured: Annotated[tuple[_Measured, ...], Field(max_length=_MOST_LOOPS)]


def read_peaks_result(path: Path) -> PeakPasses:
    """What no loop of ours is called is left out: a newer runner may have more."""
    said = read_answer(
        path, _PeaksResult, version=_SCHEMA_VERSION, most_bytes=_MOST_BYTES, wrong="does not hold the peaks of a CPU"
    )
    return PeakPasses(
        cache_bytes={level: size for level, size in said.caches.items() if level in LEVELS and size},
        checked=tuple(CheckedLoop(c.name, c.instructions, c.macs, c.sum) for c in said.checked if c.name in _LOOPS),
        passes=tuple(
            PassRates(each.loop or each.level, each.threads, each.rates, each.access)
            for each in said.measured
            if each.is_known
        ),
    )
