"""Builds ExecuTorch programs value by value: what a method takes, gives and remembers, with nothing to execute."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from etdump_builder import Writer

UINT8, FLOAT32 = 0, 6


@dataclass(frozen=True)
class Tensor:
    """`has_memory` is planned memory, `has_value` an initial value in the file."""

    sizes: tuple[int, ...]
    scalar_type: int = UINT8
    is_dynamic: bool = False
    has_memory: bool = True
    has_value: bool = False
    name: str = ""


@dataclass(frozen=True)
class Method:
    """Inputs and outputs are numbers of `values`; a value that is no tensor is its kind in the schema's union."""

    name: str = "forward"
    values: Sequence[Tensor | int] = (Tensor((5,)), Tensor((2,)))
    inputs: Sequence[int] = (0,)
    outputs: Sequence[int] = (1,)


def build_program(*methods: Method, identifier: bytes = b"ET12") -> bytes:
    """With no method given: one called forward, with an input of five bytes."""
    writer = Writer(bytearray())
    root = writer.hole()
    # Where the extended header would stand there is none: everything is in the FlatBuffer.
    writer.data += identifier + bytes(24)
    program = writer.table(root, {1: 4})
    whole = methods or (Method(),)
    for hole, method in zip(writer.vector(program[1], len(whole)), whole, strict=True):
        fields = writer.table(hole, {0: 4, 2: 4, 3: 4, 4: 4})
        writer.string(fields[0], method.name)
        for entry, value in zip(writer.vector(fields[2], len(method.values)), method.values, strict=True):
            _write_value(writer, entry, value)
        _write_numbers(writer, fields[3], method.inputs)
        _write_numbers(writer, fields[4], method.outputs)
    return bytes(writer.data)


def _write_value(writer: Writer, hole: int, value: Tensor | int) -> None:
    fields = writer.table(hole, {1: 4, 0: 1})
    if not isinstance(value, Tensor):
        writer.data[fields[0]] = value
        writer.table(fields[1], {})
        return
    writer.data[fields[0]] = 5
    widths = {2: 4, 5: 4, **({6: 4} if value.has_memory else {}), **({9: 4} if value.name else {}), 0: 1, 8: 1}
    tensor = writer.table(fields[1], widths)
    writer.data[tensor[0]], writer.data[tensor[8]] = value.scalar_type, int(value.is_dynamic)
    struct.pack_into("<I", writer.data, tensor[5], int(value.has_value))
    _write_numbers(writer, tensor[2], value.sizes)
    if value.has_memory:
        writer.table(tensor[6], {0: 4})
    if value.name:
        writer.string(writer.table(tensor[9], {1: 4})[1], value.name)


def _write_numbers(writer: Writer, hole: int, numbers: Sequence[int]) -> None:
    for at, number in zip(writer.vector(hole, len(numbers)), numbers, strict=True):
        struct.pack_into("<i", writer.data, at, number)
