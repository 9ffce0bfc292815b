"""Reads the memory that a program (.pte) planned: its buffers, and which tensors are alive while each operator runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.memory import ActivationPlan, PlannedTensor
from etprof.core.program import ProgramFile, ProgramTensor
from etprof.traces.flatbuffer import Tables
from etprof.traces.program import (
    PLAN_INPUTS,
    PLAN_NAME,
    PLAN_OUTPUTS,
    TENSOR_ALLOCATION,
    OpenProgram,
    PlanValues,
    describe_program,
    find_state,
    find_values,
    open_program,
    read_tensors,
)
from etprof.traces.program_graph import TensorCall, list_calls

# Field indices in program.fbs.
_PLAN_BUFFER_SIZES = 8
_MEMORY_ID, _OFFSET_LOW, _OFFSET_HIGH = 0, 1, 2
_MOST_BUFFER_BYTES = 1 << 48
# Operators times tensors; more than any model has, and a second of work.
_MOST_PAIRS = 400_000_000
_TENSORS_KEPT = 12


@dataclass(frozen=True)
class _Planned:
    """The tensors of a plan in the order of their places: from where to where, and from which operator to which."""

    numbers: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def alive(self, operator: int) -> NDArray[np.bool_]:
        return (self.first <= operator) & (operator <= self.last)

    def live_bytes(self, operator: int) -> int:
        """What is alive together, where tensors share their place once."""
        which = self.alive(operator)
        start, end = self.start[which], self.end[which]
        covered = np.concatenate([start[:1], np.maximum.accumulate(end)[:-1]])
        return int(np.maximum(end - np.maximum(start, covered), 0).sum())


def read_planned_program(path: Path) -> tuple[ProgramFile, dict[str, ActivationPlan]]:
    """What the program says of itself, and the plan of each method, without operators where it has too many of them."""
    with open_program(path) as program:
        names = (program.buffer.text_in(plan, PLAN_NAME) for plan in program.plans)
        plans = {name: _read_plan(program, plan, path.name) for name, plan in zip(names, program.plans, strict=True)}
        return describe_program(program), plans


def _read_plan(program: OpenProgram, plan: Tables, model: str) -> ActivationPlan:
    buffer = program.buffer
    sizes = _read_buffer_sizes(program, plan)
    method = buffer.text_in(plan, PLAN_NAME)
    # The first is not a buffer: it stands for constants.
    known = ActivationPlan(model, method, tuple(sizes[1:].tolist()))
    calls = list_calls(program, plan)
    values = find_values(buffer, plan)
    if not calls or len(calls) * len(values.which) > _MOST_PAIRS:
        return known
    planned, producers = _place_tensors(program, plan, values, sizes, calls)
    live = tuple(planned.live_bytes(operator) for operator in range(len(calls)))
    tensors = dict(zip(values.which.tolist(), read_tensors(buffer, values.tensors), strict=True))
    peak = planned.alive(live.index(max(live)))
    return ActivationPlan(
        model,
        method,
        known.buffers,
        operators=tuple(call.name for call in calls),
        live_bytes=live,
        tensors=_describe(planned, peak, tensors, producers),
    )


def _read_buffer_sizes(program: OpenProgram, plan: Tables) -> NDArray[np.int64]:
    buffer = program.buffer
    at = buffer.field(plan, _PLAN_BUFFER_SIZES, 4)
    if not at[0]:
        return np.zeros(1, np.int64)
    first, length = buffer.vectors(buffer.follow(at), 8)
    sizes = buffer.uint64(first[0] + 8 * np.arange(length[0])).astype(np.int64)
    buffer.require(bool(np.all((sizes >= 0) & (sizes <= _MOST_BUFFER_BYTES))), "a buffer has an impossible size")
    buffer.require(sizes.sum(dtype=np.float64) <= _MOST_BUFFER_BYTES, "its buffers have an impossible size")
    return sizes


def _place_tensors(
    program: OpenProgram, plan: Tables, values: PlanValues, sizes: NDArray[np.int64], calls: list[TensorCall]
) -> tuple[_Planned, dict[int, str]]:
    """Where each planned tensor lies when buffers follow one another, and what makes it."""
    buffer = program.buffer
    allocated = buffer.field(values.tensors, TENSOR_ALLOCATION, 4)
    which = np.flatnonzero(allocated > 0)
    details = buffer.tables(buffer.follow(allocated[which]))
    ids, low, high = (buffer.uint32(buffer.field(details, f, 4)) for f in (_MEMORY_ID, _OFFSET_LOW, _OFFSET_HIGH))
    # Number 0 is no buffer: such a tensor gets its memory from whoever runs the program.
    which, ids, low, high = (each[ids > 0] for each in (which, ids, low, high))
    buffer.require(bool(np.all(ids < len(sizes))), "a tensor lies in a buffer that does not exist")
    described = list(read_tensors(buffer, values.tensors))
    wanted = (described[each].bytes_of(described[each].shape) for each in which)
    needed = np.array([min(size, _MOST_BUFFER_BYTES + 1) for size in wanted], np.int64)
    buffer.require(not len(which) or int(high.max()) < 1 << 16, "a tensor lies beyond its buffer")
    offset = low + (high << 32)
    buffer.require(bool(np.all(offset + needed <= sizes[ids])), "a tensor lies beyond its buffer")
    start = np.concatenate([[0], np.cumsum(sizes)])[ids] + offset
    first, last, producers = _find_lifetimes(program, plan, values, calls)
    numbers = values.which[which]
    order = np.argsort(start, kind="stable")
    numbers, start, needed = numbers[order], start[order], needed[order]
    return _Planned(numbers, start, start + needed, first[numbers], last[numbers]), producers


def _find_lifetimes(
    program: OpenProgram, plan: Tables, values: PlanValues, calls: list[TensorCall]
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, str]]:
    """The first and the last operator that needs each value, and the name of the first; unused ones live nowhere."""
    first = np.full(len(values), len(calls), np.int64)
    last = np.full(len(values), -1, np.int64)
    producers: dict[int, str] = {}
    for index, call in enumerate(calls):
        for number in call.tensors:
            first[number] = min(int(first[number]), index)
            last[number] = index
            producers.setdefault(number, call.name)
    inputs, outputs = (program.buffer.lists_in(plan, f)[0] for f in (PLAN_INPUTS, PLAN_OUTPUTS))
    program.buffer.require(all(0 <= each < len(values) for each in (*inputs, *outputs)), "an output does not exist")
    state = find_state(program.buffer, values, inputs)
    first[list(inputs)] = 0
    first[state] = 0
    last[[*outputs, *state]] = len(calls) - 1
    return first, last, {**producers, **dict.fromkeys(inputs, "input"), **dict.fromkeys(state, "state")}


def _describe(
    planned: _Planned, which: NDArray[np.bool_], tensors: dict[int, ProgramTensor], producers: dict[int, str]
) -> tuple[PlannedTensor, ...]:
    """The largest first."""
    sizes = zip(planned.numbers[which].tolist(), (planned.end - planned.start)[which].tolist(), strict=True)
    largest = sorted(sizes, key=lambda each: (-each[1], each[0]))[:_TENSORS_KEPT]
    return tuple(PlannedTensor(tensors[number].label, size, producers.get(number, "")) for number, size in largest)
