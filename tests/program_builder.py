"""Builds ExecuTorch programs value by value: what a method takes, gives and remembers, and the calls it makes."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from etdump_builder import Writer

UINT8, FLOAT32 = 0, 6


@dataclass(frozen=True)
class Tensor:
    """`has_memory` is planned memory, `has_value` an initial value in the file; `place` is a buffer and an offset."""

    sizes: tuple[int, ...]
    scalar_type: int = UINT8
    is_dynamic: bool = False
    has_memory: bool = True
    has_value: bool = False
    name: str = ""
    place: tuple[int, int] | None = None


@dataclass(frozen=True)
class Number:
    """An integer, or a boolean."""

    value: int | bool


@dataclass(frozen=True)
class Values:
    """A list of values, by their numbers: of integers, or of tensors."""

    items: tuple[int, ...]
    of_integers: bool = False


@dataclass(frozen=True)
class Call:
    """Calls an operator (such as aten::add.out), or the delegate of this number, with these values."""

    what: str | int
    arguments: tuple[int, ...]


Value = Tensor | Number | Values | int


@dataclass(frozen=True)
class Method:
    """Inputs and outputs are numbers of `values`; a value that is no tensor may be its kind in the schema's union.

    `delegates` are names of backends and their payloads, which lie in the program itself. `buffers` are the sizes of
    its planned memory.
    """

    name: str = "forward"
    values: Sequence[Value] = (Tensor((5,)), Tensor((2,)))
    inputs: Sequence[int] = (0,)
    outputs: Sequence[int] = (1,)
    calls: Sequence[Call] = ()
    delegates: Sequence[tuple[str, bytes]] = ()
    buffers: Sequence[int] = ()


# An input of 40 bytes, two results of 80 and 120 bytes, and an output of 20 that lies where the input was.
PLANNED = Method(
    values=(
        Tensor((10,), FLOAT32, place=(1, 0)),
        Tensor((20,), FLOAT32, place=(1, 64)),
        Tensor((30,), FLOAT32, place=(2, 0)),
        Tensor((5,), FLOAT32, place=(1, 0)),
    ),
    inputs=(0,),
    outputs=(3,),
    calls=(Call("aten::relu.out", (0, 1)), Call("aten::exp.out", (1, 2)), Call("aten::sum.out", (2, 3))),
    buffers=(144, 120),
)


def build_program(*methods: Method, identifier: bytes = b"ET12") -> bytes:
    """With no method given: one called forward, with an input of five bytes."""
    writer = Writer(bytearray())
    root = writer.hole()
    # Where the extended header would stand there is none: everything is in the FlatBuffer.
    writer.data += identifier + bytes(24)
    whole = methods or (Method(),)
    payloads = [payload for method in whole for _, payload in method.delegates]
    program = writer.table(root, {1: 4, **({3: 4} if payloads else {})})
    if payloads:
        for hole, payload in zip(writer.vector(program[3], len(payloads)), payloads, strict=True):
            writer.bytes(writer.table(hole, {0: 4})[0], payload)
    first = 0
    for hole, method in zip(writer.vector(program[1], len(whole)), whole, strict=True):
        _write_method(writer, hole, method, first)
        first += len(method.delegates)
    return bytes(writer.data)


def _write_method(writer: Writer, hole: int, method: Method, first_payload: int) -> None:
    called = {5: 4, 6: 4, 7: 4} if method.calls else {}
    planned = {8: 4} if method.buffers else {}
    fields = writer.table(hole, {0: 4, 2: 4, 3: 4, 4: 4, **called, **planned})
    writer.string(fields[0], method.name)
    for entry, value in zip(writer.vector(fields[2], len(method.values)), method.values, strict=True):
        _write_value(writer, entry, value)
    _write_numbers(writer, fields[3], method.inputs)
    _write_numbers(writer, fields[4], method.outputs)
    if method.buffers:
        sizes = (0, *method.buffers)
        at = _write_numbers(writer, fields[8], [half for size in sizes for half in (size & 0xFFFFFFFF, size >> 32)])
        struct.pack_into("<I", writer.data, at, len(sizes))
    if method.calls:
        _write_calls(writer, fields, method, first_payload)


def _write_calls(writer: Writer, fields: dict[int, int], method: Method, first_payload: int) -> None:
    operators = list(dict.fromkeys(call.what for call in method.calls if isinstance(call.what, str)))
    (chain,) = writer.vector(fields[5], 1)
    instructions = writer.vector(writer.table(chain, {2: 4})[2], len(method.calls))
    for hole, call in zip(instructions, method.calls, strict=True):
        instruction = writer.table(hole, {1: 4, 0: 1})
        writer.data[instruction[0]] = 1 if isinstance(call.what, str) else 2
        made = writer.table(instruction[1], {0: 4, 1: 4})
        index = operators.index(call.what) if isinstance(call.what, str) else call.what
        struct.pack_into("<i", writer.data, made[0], index)
        _write_numbers(writer, made[1], call.arguments)
    for hole, operator in zip(writer.vector(fields[6], len(operators)), operators, strict=True):
        names = writer.table(hole, {0: 4, 1: 4})
        name, _, overload = operator.partition(".")
        writer.string(names[0], name)
        writer.string(names[1], overload)
    for number, hole in enumerate(writer.vector(fields[7], len(method.delegates))):
        delegate = writer.table(hole, {0: 4, 1: 4})
        writer.string(delegate[0], method.delegates[number][0])
        struct.pack_into("<I", writer.data, writer.table(delegate[1], {1: 4})[1], first_payload + number)


def _write_value(writer: Writer, hole: int, value: Value) -> None:
    fields = writer.table(hole, {1: 4, 0: 1})
    if isinstance(value, Number):
        is_bool = isinstance(value.value, bool)
        writer.data[fields[0]] = 3 if is_bool else 2
        held = writer.table(fields[1], {0: 1 if is_bool else 8})
        struct.pack_into("<?" if is_bool else "<q", writer.data, held[0], value.value)
        return
    if isinstance(value, Values):
        writer.data[fields[0]] = 7 if value.of_integers else 10
        listed = writer.table(fields[1], {0: 4})
        halves = [half for item in value.items for half in (item, 0)] if value.of_integers else value.items
        at = _write_numbers(writer, listed[0], halves)
        struct.pack_into("<I", writer.data, at, len(value.items))
        return
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
        allocation = writer.table(tensor[6], {0: 4, 1: 4})
        struct.pack_into("<II", writer.data, allocation[0], *(value.place or (0, 0)))
    if value.name:
        writer.string(writer.table(tensor[9], {1: 4})[1], value.name)


def _write_numbers(writer: Writer, hole: int, numbers: Sequence[int]) -> int:
    """Returns where the length of the list stands."""
    places = writer.vector(hole, len(numbers))
    for at, number in zip(places, numbers, strict=True):
        struct.pack_into("<i" if number < 0 else "<I", writer.data, at, number)
    return (places[0] if places else len(writer.data)) - 4
