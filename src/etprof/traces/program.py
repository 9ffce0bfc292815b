"""Reads what an ExecuTorch program (.pte) says of itself out of its FlatBuffer, with neither torch nor a runtime."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.errors import TraceError
from etprof.core.program import SCALAR_TYPES, ProgramFile, ProgramMethod, ProgramTensor
from etprof.core.regular_files import open_regular
from etprof.traces.flatbuffer import Buffer, Positions, Tables

IDENTIFIER = b"ET12"
_EXTENDED_HEADER = b"eh00"
_HEADER_BYTES = 32
_HINT = "Export the model again: the file is damaged, or was made for another version of ExecuTorch."

# Field indices in program.fbs.
_PROGRAM_PLANS, _PROGRAM_SEGMENTS = 1, 4
_SEGMENT_OFFSET, _SEGMENT_SIZE = 0, 1
PLAN_NAME, _PLAN_VALUES, PLAN_INPUTS, PLAN_OUTPUTS = 0, 2, 3, 4
_PLAN_CHAINS, _PLAN_OPERATORS = 5, 6
CHAIN_INSTRUCTIONS = 2
_OPERATOR_NAME, _OPERATOR_OVERLOAD = 0, 1
_VALUE_TYPE, _VALUE = 0, 1
_TENSOR_TYPE, _TENSOR_SIZES, _TENSOR_DATA, TENSOR_ALLOCATION, _TENSOR_DYNAMISM, _TENSOR_EXTRA = 0, 2, 5, 6, 8, 9
_EXTRA_NAME = 1
_ALLOCATION_ARENA = 0
# The members of the union KernelTypes.
KINDS = ("none", "none", "int", "bool", "float", "tensor", "string", "list", "list", "list", "list", "list")
_TENSOR = KINDS.index("tensor")
_NUMBERS = ("int", "bool", "float")


class ProgramBuffer(Buffer):
    """A FlatBuffer in a program: the program's own, or that of a delegate."""

    def damaged(self, what: str) -> TraceError:
        return TraceError(f"{self.path} cannot be loaded: {what}.", hint=_HINT)


@dataclass(frozen=True)
class OpenProgram:
    """A program whose file is open: its root table, where each segment starts and how long it is, and its methods."""

    file: BufferedReader
    buffer: ProgramBuffer
    root: Tables
    segments: tuple[tuple[int, int], ...]
    plans: tuple[Tables, ...]


@contextmanager
def open_program(path: Path) -> Iterator[OpenProgram]:
    """A file that is not a program, is cut off or leads nowhere is refused."""
    try:
        with open_regular(path) as file:
            yield _open(path, file)
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.") from error


def read_program(path: Path) -> ProgramFile:
    """What the program says of itself."""
    with open_program(path) as program:
        return describe_program(program)


def describe_program(program: OpenProgram) -> ProgramFile:
    methods = tuple(_read_method(program.buffer, plan) for plan in program.plans)
    program.file.seek(0)
    digest = hashlib.file_digest(program.file, "sha256").hexdigest()
    return ProgramFile(methods, digest, sum(size for _, size in program.segments))


def _open(path: Path, file: BufferedReader) -> OpenProgram:
    head = file.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES or head[4:8] != IDENTIFIER:
        raise TraceError(f"{path} cannot be loaded: it is not an ExecuTorch program.", hint=_HINT)
    has_segments = head[8:12] == _EXTENDED_HEADER
    end, base = (int.from_bytes(head[at : at + 8], "little") for at in (16, 24)) if has_segments else (None, 0)
    buffer = ProgramBuffer(path, end, file)
    root = buffer.tables(buffer.follow(np.zeros(1, np.int64)))
    segments = _find_segments(buffer, root, base, path.stat().st_size)
    plans = buffer.tables_in(root, _PROGRAM_PLANS)
    buffer.require(len(plans) > 0, "it has no method")
    return OpenProgram(file, buffer, root, segments, tuple(buffer.tables(at) for at in plans.at.reshape(-1, 1)))


def _find_segments(buffer: Buffer, root: Tables, base: int, size: int) -> tuple[tuple[int, int], ...]:
    segments = buffer.tables_in(root, _PROGRAM_SEGMENTS)
    offsets, sizes = (buffer.uint64(buffer.field(segments, f, 8)) for f in (_SEGMENT_OFFSET, _SEGMENT_SIZE))
    found = tuple((base + int(offset), int(length)) for offset, length in zip(offsets, sizes, strict=True))
    last = max((start + length for start, length in found), default=0)
    buffer.require(last <= size, "it is shorter than its own list of segments says")
    return found


@dataclass(frozen=True)
class PlanValues:
    """The values of a method: the kind of each, the table of each, and which of them are tensors."""

    kinds: Positions
    at: Positions
    which: Positions
    tensors: Tables

    def __len__(self) -> int:
        return len(self.kinds)


def find_values(buffer: Buffer, plan: Tables) -> PlanValues:
    values = buffer.tables_in(plan, _PLAN_VALUES)
    kinds = buffer.uint8(buffer.field(values, _VALUE_TYPE, 1))
    buffer.require(bool(np.all(kinds < len(KINDS))), "a value is of an unknown kind")
    at = buffer.field(values, _VALUE, 4)
    which = np.flatnonzero(kinds == _TENSOR)
    buffer.require(bool(np.all(at[which] > 0)), "a tensor is missing")
    return PlanValues(kinds, at, which, buffer.tables(buffer.follow(at[which])))


def _read_method(buffer: Buffer, plan: Tables) -> ProgramMethod:
    values = find_values(buffer, plan)
    kinds = values.kinds
    tensors = dict(zip(values.which.tolist(), read_tensors(buffer, values.tensors), strict=True))
    inputs, outputs = (buffer.lists_in(plan, field)[0] for field in (PLAN_INPUTS, PLAN_OUTPUTS))
    buffer.require(all(0 <= each < len(values) for each in (*inputs, *outputs)), "an input or output does not exist")
    state = find_state(buffer, values, inputs)
    return ProgramMethod(
        name=buffer.text_in(plan, PLAN_NAME),
        inputs=tuple(tensors.get(each, KINDS[kinds[each]]) for each in inputs),
        outputs=tuple(tensors.get(each, KINDS[kinds[each]]) for each in outputs),
        state=tuple(tensors[each] for each in state),
        value=read_value(buffer, plan, values),
        operators=read_operators(buffer, plan),
        state_arenas=_find_state_arenas(buffer, values, state),
    )


def _find_state_arenas(buffer: Buffer, values: PlanValues, state: list[int]) -> tuple[int, ...]:
    allocation = buffer.field(values.tensors, TENSOR_ALLOCATION, 4)
    planned = np.flatnonzero(allocation)
    arenas = buffer.uint32(buffer.field(buffer.tables(buffer.follow(allocation[planned])), _ALLOCATION_ARENA, 4))
    is_state = np.isin(values.which[planned], state)
    own = np.setdiff1d(arenas[is_state], arenas[~is_state])
    # Number 0 is that of constants, which are not planned.
    return tuple((own[own > 0] - 1).tolist())


def read_value(buffer: Buffer, plan: Tables, values: PlanValues) -> int | float | None:
    """The number or truth that a method returns without computing it; None where it takes something or computes."""
    inputs, outputs = (buffer.lists_in(plan, field)[0] for field in (PLAN_INPUTS, PLAN_OUTPUTS))
    chains = buffer.tables_in(plan, _PLAN_CHAINS)
    computes = any(len(buffer.tables_in(buffer.tables(at), CHAIN_INSTRUCTIONS)) for at in chains.at.reshape(-1, 1))
    is_one = len(outputs) == 1 and 0 <= outputs[0] < len(values)
    kind = KINDS[values.kinds[outputs[0]]] if is_one else ""
    if inputs or computes or kind not in _NUMBERS or not values.at[outputs[0]]:
        return None
    held = buffer.tables(buffer.follow(values.at[list(outputs)]))
    if kind == "bool":
        return bool(buffer.uint8(buffer.field(held, 0, 1))[0])
    raw = buffer.uint64(buffer.field(held, 0, 8))
    return float(raw.view("<f8")[0]) if kind == "float" else int(raw.view("<i8")[0])


def read_operators(buffer: Buffer, plan: Tables) -> tuple[str, ...]:
    """Such as aten::add.out, in the order in which instructions name them by number."""
    names = []
    for operator in map(buffer.tables, buffer.tables_in(plan, _PLAN_OPERATORS).at.reshape(-1, 1)):
        name, overload = (buffer.text_in(operator, field) for field in (_OPERATOR_NAME, _OPERATOR_OVERLOAD))
        names.append(f"{name}.{overload}" if overload else name)
    return tuple(names)


def find_state(buffer: Buffer, values: PlanValues, inputs: tuple[int, ...]) -> list[int]:
    """Tensors with memory of their own that nothing computes before they are read.

    They have an initial value or a name, or they stand before the last input: the exporter writes what a method starts
    with (constants, buffers, inputs) before anything that it computes.
    """
    tensors, which = values.tensors, values.which
    has_memory, has_value = find_storage(buffer, tensors)
    has_name = np.array([bool(name) for name in _names(buffer, tensors)], bool)
    is_there_before = (which < max(inputs, default=0)) & ~np.isin(which, inputs)
    return [int(each) for each in which[has_memory & (has_value | has_name | is_there_before)]]


def find_storage(buffer: Buffer, tensors: Tables) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each tensor has memory of its own, and whether it has a value in the file; a constant has only that."""
    has_memory = buffer.field(tensors, TENSOR_ALLOCATION, 4) > 0
    return has_memory, buffer.uint32(buffer.field(tensors, _TENSOR_DATA, 4)) != 0


def read_tensors(buffer: Buffer, tensors: Tables) -> Iterator[ProgramTensor]:
    shapes = buffer.lists_in(tensors, _TENSOR_SIZES)
    types, dynamism = (buffer.field(tensors, field, 1) for field in (_TENSOR_TYPE, _TENSOR_DYNAMISM))
    names = _names(buffer, tensors)
    for type_at, shape, dynamic_at, name in zip(types, shapes, dynamism, names, strict=True):
        number = int(buffer.bytes[type_at]) if type_at else 0
        dtype, width = SCALAR_TYPES.get(number, (f"scalar type {number}", 0))
        yield ProgramTensor(dtype, width, shape, bool(dynamic_at and buffer.bytes[dynamic_at]), name)


def _names(buffer: Buffer, tensors: Tables) -> list[str]:
    """The name of each tensor; empty where it has none, as most have."""
    names = [""] * len(tensors)
    extra = buffer.field(tensors, _TENSOR_EXTRA, 4)
    for each in np.flatnonzero(extra):
        table = buffer.tables(buffer.follow(extra[each].reshape(1)))
        names[each] = buffer.text_in(table, _EXTRA_NAME)
    return names
