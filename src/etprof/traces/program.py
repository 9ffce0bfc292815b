"""Reads what an ExecuTorch program (.pte) says of itself out of its FlatBuffer, with neither torch nor a runtime."""

import hashlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

import numpy as np

from etprof.core.errors import TraceError
from etprof.core.program import SCALAR_TYPES, Program, ProgramMethod, ProgramTensor
from etprof.core.regular_files import open_regular
from etprof.traces.flatbuffer import Buffer, Positions, Tables

IDENTIFIER = b"ET12"
_EXTENDED_HEADER = b"eh00"
_HEADER_BYTES = 32
_HINT = "Export the model again: the file is damaged, or was made for another version of ExecuTorch."

# Field indices in program.fbs.
_PROGRAM_PLANS, _PROGRAM_SEGMENTS = 1, 4
_SEGMENT_OFFSET, _SEGMENT_SIZE = 0, 1
_PLAN_NAME, _PLAN_VALUES, _PLAN_INPUTS, _PLAN_OUTPUTS = 0, 2, 3, 4
_VALUE_TYPE, _VALUE = 0, 1
_TENSOR_TYPE, _TENSOR_SIZES, _TENSOR_DATA, _TENSOR_ALLOCATION, _TENSOR_DYNAMISM, _TENSOR_EXTRA = 0, 2, 5, 6, 8, 9
_EXTRA_NAME = 1
# The members of the union KernelTypes.
_KINDS = ("none", "none", "int", "bool", "float", "tensor", "string", "list", "list", "list", "list", "list")
_TENSOR = _KINDS.index("tensor")


class _ProgramBuffer(Buffer):
    def damaged(self, what: str) -> TraceError:
        return TraceError(f"{self.path} cannot be loaded: {what}.", hint=_HINT)


def read_program(path: Path) -> Program:
    """What the program says of itself; a file that is not one, is cut off or leads nowhere is refused."""
    try:
        with open_regular(path) as file:
            methods = _read_methods(path, file)
            file.seek(0)
            return Program(methods, hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.") from error


def _read_methods(path: Path, file: BufferedReader) -> tuple[ProgramMethod, ...]:
    head = file.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES or head[4:8] != IDENTIFIER:
        raise TraceError(f"{path} cannot be loaded: it is not an ExecuTorch program.", hint=_HINT)
    has_segments = head[8:12] == _EXTENDED_HEADER
    end, base = (int.from_bytes(head[at : at + 8], "little") for at in (16, 24)) if has_segments else (None, 0)
    buffer = _ProgramBuffer(path, end, file)
    program = buffer.tables(buffer.follow(np.zeros(1, np.int64)))
    _check_segments(buffer, program, base, path.stat().st_size)
    plans = _tables_in(buffer, program, _PROGRAM_PLANS)
    buffer.require(len(plans) > 0, "it has no method")
    return tuple(_read_method(buffer, buffer.tables(at)) for at in plans.at.reshape(-1, 1))


def _check_segments(buffer: Buffer, program: Tables, base: int, size: int) -> None:
    segments = _tables_in(buffer, program, _PROGRAM_SEGMENTS)
    offsets, sizes = (buffer.uint64(buffer.field(segments, f, 8)) for f in (_SEGMENT_OFFSET, _SEGMENT_SIZE))
    ends = [base + int(offset) + int(length) for offset, length in zip(offsets, sizes, strict=True)]
    buffer.require(max(ends, default=0) <= size, "it is shorter than its own list of segments says")


def _read_method(buffer: Buffer, plan: Tables) -> ProgramMethod:
    values = _tables_in(buffer, plan, _PLAN_VALUES)
    kinds = buffer.bytes[buffer.field(values, _VALUE_TYPE, 1)] * (buffer.field(values, _VALUE_TYPE, 1) > 0)
    buffer.require(bool(np.all(kinds < len(_KINDS))), "a value is of an unknown kind")
    which = np.flatnonzero(kinds == _TENSOR)
    at = buffer.field(values, _VALUE, 4)[which]
    buffer.require(bool(np.all(at > 0)), "a tensor is missing")
    tables = buffer.tables(buffer.follow(at))
    tensors = dict(zip(which.tolist(), _read_tensors(buffer, tables), strict=True))
    inputs, outputs = (_numbers(buffer, plan, field) for field in (_PLAN_INPUTS, _PLAN_OUTPUTS))
    buffer.require(all(0 <= each < len(values) for each in (*inputs, *outputs)), "an input or output does not exist")
    return ProgramMethod(
        name=_text(buffer, buffer.field(plan, _PLAN_NAME, 4)),
        inputs=tuple(tensors.get(each, _KINDS[kinds[each]]) for each in inputs),
        outputs=tuple(tensors.get(each, _KINDS[kinds[each]]) for each in outputs),
        state=tuple(tensors[each] for each in _find_state(buffer, tables, which, inputs)),
    )


def _find_state(buffer: Buffer, tensors: Tables, which: Positions, inputs: list[int]) -> list[int]:
    """Tensors with memory of their own that nothing computes before they are read.

    They have an initial value or a name, or they stand before the last input: the exporter writes what a method starts
    with (constants, buffers, inputs) before anything that it computes.
    """
    has_memory = buffer.field(tensors, _TENSOR_ALLOCATION, 4) > 0
    has_value = buffer.int32(buffer.field(tensors, _TENSOR_DATA, 4), 0) != 0
    has_name = np.array([bool(name) for name in _names(buffer, tensors)], bool)
    is_there_before = (which < max(inputs, default=0)) & ~np.isin(which, inputs)
    return [int(each) for each in which[has_memory & (has_value | has_name | is_there_before)]]


def _read_tensors(buffer: Buffer, tensors: Tables) -> Iterator[ProgramTensor]:
    sizes_at = buffer.field(tensors, _TENSOR_SIZES, 4)
    types, dynamism = (buffer.field(tensors, field, 1) for field in (_TENSOR_TYPE, _TENSOR_DYNAMISM))
    names = _names(buffer, tensors)
    for type_at, sizes, dynamic_at, name in zip(types, sizes_at, dynamism, names, strict=True):
        number = int(buffer.bytes[type_at]) if type_at else 0
        dtype, width = SCALAR_TYPES.get(number, (f"scalar type {number}", 0))
        shape = tuple(_items(buffer, sizes.reshape(1)))
        yield ProgramTensor(dtype, width, shape, bool(dynamic_at and buffer.bytes[dynamic_at]), name)


def _names(buffer: Buffer, tensors: Tables) -> list[str]:
    """The name of each tensor; empty where it has none, as most have."""
    names = [""] * len(tensors)
    extra = buffer.field(tensors, _TENSOR_EXTRA, 4)
    for each in np.flatnonzero(extra):
        table = buffer.tables(buffer.follow(extra[each].reshape(1)))
        names[each] = _text(buffer, buffer.field(table, _EXTRA_NAME, 4))
    return names


def _tables_in(buffer: Buffer, table: Tables, field: int) -> Tables:
    """The tables of a list; none where the field is left out."""
    at = buffer.field(table, field, 4)
    if not at[0]:
        return buffer.tables(np.zeros(0, np.int64))
    first, length = buffer.vectors(buffer.follow(at), 4)
    return buffer.tables(buffer.follow(first[0] + 4 * np.arange(length[0])))


def _numbers(buffer: Buffer, table: Tables, field: int) -> list[int]:
    return _items(buffer, buffer.field(table, field, 4))


def _items(buffer: Buffer, at: Positions) -> list[int]:
    """The 32-bit numbers of the list that the field at this position leads to."""
    if not at[0]:
        return []
    first, length = buffer.vectors(buffer.follow(at), 4)
    found: list[int] = buffer.int32(first[0] + 4 * np.arange(length[0]), 0).tolist()
    return found


def _text(buffer: Buffer, at: Positions) -> str:
    if not at[0]:
        return ""
    first, length = buffer.vectors(buffer.follow(at), 1)
    return buffer.bytes[first[0] : first[0] + length[0]].tobytes().decode("utf-8", errors="replace")
