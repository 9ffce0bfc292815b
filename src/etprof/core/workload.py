"""A workload: phases that follow each other in one process, each of one or more steps; a step is one inference."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE, VALUE, RANDOM, ARANGE = "file", "value", "random", "arange"
FILLS = (FILE, VALUE, RANDOM, ARANGE)

# Of a phase, in reports and in errors.
PHASE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@+ -]{0,59}$"

MOST_PHASES = 50
MOST_STEPS = 1_000_000
# Of the times that one block keeps: 160 MB.
MOST_STEP_TIMES = 20_000_000
MOST_POSITION = 1 << 40
# So many steps of a phase are traced in a sequence; of more, these are chosen at even distances.
MOST_TRACED = 64


@dataclass(frozen=True)
class PhaseInput:
    """What one input of a phase's steps holds; `fill` says from where.

    `file`: raw little-endian bytes of one step, or of several, one after the other, which the steps take in turn.
    `value`: each element is `value`. `random`: each step draws its own elements from `low` to `high`, both included for
    whole numbers. `arange`: the running position and the numbers after it. An empty `shape` and `dtype` are the
    program's own; None is no shape.
    """

    fill: str
    file: Path | None = None
    value: int | float = 0
    low: int | float = 0
    high: int | float = 0
    seed: int = 0
    shape: tuple[int, ...] | None = None
    dtype: str = ""

    @property
    def elements(self) -> int:
        return prod(self.shape or ())


@dataclass(frozen=True)
class Phase:
    """`repeats` steps of one method. With `resets` the state is that of a freshly loaded program before the first.

    An empty `method` is the program's own. Each step moves the running position on by `advance`; None stands for the
    elements of its `arange` input, and for 1 where it has none.
    """

    name: str
    method: str = ""
    inputs: tuple[PhaseInput, ...] = ()
    repeats: int = 1
    resets: bool = False
    advance: int | None = None

    @property
    def stride(self) -> int:
        """How far a step moves the position."""
        if self.advance is not None:
            return self.advance
        return next((each.elements for each in self.inputs if each.fill == ARANGE), 1)


@dataclass(frozen=True)
class Step:
    """One inference of a sequence: the phase by its number, which step of it, and the position before it."""

    phase: int
    index: int
    position: int


@dataclass(frozen=True)
class Workload:
    """One pass through the phases is a sequence. State is reset and the position is 0 before each sequence."""

    phases: tuple[Phase, ...]

    @property
    def step_count(self) -> int:
        return sum(phase.repeats for phase in self.phases)

    @cached_property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """For each phase the number of its first step and of the first one after it."""
        ends = np.cumsum([0, *(phase.repeats for phase in self.phases)]).tolist()
        return tuple(pairwise(ends))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The position before the first step of each phase."""
        found, position = [], 0
        for phase in self.phases:
            position = 0 if phase.resets else position
            found.append(position)
            position += phase.repeats * phase.stride
        return tuple(found)

    @property
    def steps(self) -> Iterator[Step]:
        """Every step of a sequence, in order."""
        for number, (phase, start) in enumerate(zip(self.phases, self.starts, strict=True)):
            for index in range(phase.repeats):
                yield Step(number, index, start + index * phase.stride)

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The position before each step."""
        parts = [
            start + phase.stride * np.arange(phase.repeats, dtype=np.int64)
            for phase, start in zip(self.phases, self.starts, strict=True)
        ]
        return np.concatenate(parts)

    @cached_property
    def traced_steps(self) -> NDArray[np.int64]:
        """The steps of a traced sequence, in order: the n-th inference in a trace is the n-th of these.

        A trace of several sequences has them once for each. Of a phase with more than `MOST_TRACED` steps those at
        even distances are run, the first and the last among them, and not those between.
        """
        return np.concatenate([_spread(first, end) for first, end in self.bounds])

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that inputs are read from."""
        return tuple(each.file for phase in self.phases for each in phase.inputs if each.file)

    @property
    def summary(self) -> str:
        """For readers: prefill, decode x 64."""
        return ", ".join(phase.name + (f" x {phase.repeats}" if phase.repeats > 1 else "") for phase in self.phases)

    @property
    def outline(self) -> "Workload":
        """What two programs have to agree in to do the same work; their methods and types may differ."""
        return Workload(
            tuple(
                replace(phase, method="", inputs=tuple(replace(each, dtype="", file=None) for each in phase.inputs))
                for phase in self.phases
            )
        )

    def describe_step(self, step: int) -> str:
        """For readers, who count from 1: step 35 (decode 3 of 64)."""
        number = self.phase_of(step)
        phase, index = self.phases[number], step - self.bounds[number][0]
        return f"step {step + 1} ({phase.name} {index + 1} of {phase.repeats})"

    def phase_of(self, step: int) -> int:
        """The number of the phase that a step belongs to."""
        return next(number for number, (_, end) in enumerate(self.bounds) if step < end)


def find_problem(workload: Workload) -> str:
    """What no workload of ours has, as a phrase; empty where all is well."""
    phases = workload.phases
    if not 1 <= len(phases) <= MOST_PHASES or len({phase.name for phase in phases}) < len(phases):
        return "a workload has no phases, too many, or two of one name"
    if not all(re.fullmatch(PHASE_NAME, phase.name) for phase in phases):
        return "a phase has a name that none can have"
    if not all(1 <= phase.repeats <= MOST_STEPS for phase in phases) or workload.step_count > MOST_STEPS:
        return "a workload has too many steps"
    given = [each for phase in phases for each in phase.inputs]
    sizes = [size for each in given for size in each.shape or ()]
    if not all(0 <= size <= MOST_POSITION for size in sizes) or any(each.fill not in FILLS for each in given):
        return "an input of a workload is none"
    if not all(0 <= phase.stride <= MOST_POSITION for phase in phases) or max(workload.starts) > MOST_POSITION:
        return "the position of a workload is out of range"
    return ""


def _spread(first: int, end: int) -> NDArray[np.int64]:
    count = min(end - first, MOST_TRACED)
    return np.linspace(first, end - 1, count).round().astype(np.int64)
