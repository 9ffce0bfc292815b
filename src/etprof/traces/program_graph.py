"""Reads the graph of a program (.pte) out of its file: the nodes of each delegate call, and the operators beside them.

It is the graph that an export of ours writes to graph.json, without the way back to the modules of the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from etprof.core.graph import GraphNode, ModelGraph, TensorSpec, Window
from etprof.core.xnnpack_nodes import build_convolution_window
from etprof.traces.flatbuffer import Tables
from etprof.traces.program import (
    CHAIN_INSTRUCTIONS,
    PLAN_NAME,
    OpenProgram,
    PlanValues,
    find_storage,
    find_values,
    open_program,
    read_operators,
    read_tensors,
    read_value,
)
from etprof.traces.xnnpack_payload import BACKEND, read_payload

# Field indices in program.fbs.
_PROGRAM_INLINE_DATA, _INLINE_DATA = 3, 0
_PLAN_CHAINS, _PLAN_DELEGATES = 5, 7
_INSTRUCTION_TYPE, _INSTRUCTION = 0, 1
_CALL_INDEX, _CALL_ARGUMENTS = 0, 1
_DELEGATE_ID, _DELEGATE_DATA = 0, 1
_DATA_LOCATION, _DATA_INDEX = 0, 1
# Members of unions and enums.
_KERNEL_CALL, _DELEGATE_CALL = 1, 2
_INT, _BOOL, _INT_LIST, _TENSOR_LIST, _OPTIONAL_TENSOR_LIST = 2, 3, 7, 10, 11
_IN_SEGMENT = 1

# Bookkeeping of the runtime: no operator of the model.
_NOT_OPERATORS = ("sym_size", "_local_scalar_dense")
_CONVOLUTION = "aten::convolution"
_CONVOLUTION_ARGUMENTS = 9


@dataclass(frozen=True)
class _Call:
    """An instruction that calls an operator or a delegate, by its number, with the numbers of values."""

    type: int
    index: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class TensorCall:
    """An instruction of a method: the operator or the delegate that it calls, and the tensors it reads or writes."""

    name: str
    tensors: tuple[int, ...]


def list_calls(program: OpenProgram, plan: Tables) -> list[TensorCall]:
    """The instructions of a method that call something, in the order of the file."""
    return _Method(program, plan).list_calls()


def read_graphs(path: Path) -> dict[str, ModelGraph]:
    """The graph of each method that does not only return a value, by its name.

    A delegate other than XNNPACK is a partition without nodes.
    """
    with open_program(path) as program:
        payloads: dict[tuple[int, int], tuple[GraphNode, ...]] = {}
        methods = (_Method(program, plan) for plan in program.plans)
        return {
            program.buffer.text_in(each.plan, PLAN_NAME): each.read_graph(path.stem, payloads)
            for each in methods
            if read_value(program.buffer, each.plan, each.values) is None
        }


class _Method:
    """One execution plan of a program."""

    def __init__(self, program: OpenProgram, plan: Tables) -> None:
        self.program, self.plan, self.buffer = program, plan, program.buffer
        self.values: PlanValues = find_values(self.buffer, plan)
        self.tensors = self._describe_tensors()
        # Each list belongs to one call, which reads it a few times: calls that all name one long list are an attack.
        self._items_left = self.buffer.size

    def read_graph(self, model: str, payloads: dict[tuple[int, int], tuple[GraphNode, ...]]) -> ModelGraph:
        calls = list(self._read_calls())
        delegates = self._find_payloads()
        operators = read_operators(self.buffer, self.plan)
        partitions: list[tuple[GraphNode, ...]] = []
        undelegated: list[GraphNode] = []
        for call in calls:
            known = delegates if call.type == _DELEGATE_CALL else operators
            self.buffer.require(call.index < len(known), "an instruction calls what does not exist")
            if call.type == _DELEGATE_CALL:
                place = delegates[call.index]
                if place and place not in payloads:
                    payloads[place] = read_payload(self.program, *place)
                partitions.append(payloads[place] if place else ())
            elif not any(word in operators[call.index] for word in _NOT_OPERATORS):
                undelegated.append(self._build_operator(len(undelegated), operators[call.index], call.arguments))
        return ModelGraph(model, tuple(partitions), tuple(undelegated))

    def list_calls(self) -> list[TensorCall]:
        buffer = self.buffer
        operators = read_operators(buffer, self.plan)
        tables = buffer.tables_in(self.plan, _PLAN_DELEGATES).at.reshape(-1, 1)
        delegates = [buffer.text_in(buffer.tables(each), _DELEGATE_ID) for each in tables]
        found = []
        for call in self._read_calls():
            known = delegates if call.type == _DELEGATE_CALL else operators
            buffer.require(call.index < len(known), "an instruction calls what does not exist")
            # Each tensor once: what an operator writes is named again as what it returns.
            tensors = tuple(dict.fromkeys(self._list_tensors(call.arguments)))
            found.append(TensorCall(known[call.index], tensors))
        return found

    def _read_calls(self) -> Iterator[_Call]:
        buffer = self.buffer
        for chain in buffer.tables_in(self.plan, _PLAN_CHAINS).at.reshape(-1, 1):
            instructions = buffer.tables_in(buffer.tables(chain), CHAIN_INSTRUCTIONS)
            types = buffer.uint8(buffer.field(instructions, _INSTRUCTION_TYPE, 1))
            at = buffer.field(instructions, _INSTRUCTION, 4)
            which = np.flatnonzero(((types == _KERNEL_CALL) | (types == _DELEGATE_CALL)) & (at > 0))
            calls = buffer.tables(buffer.follow(at[which]))
            indices = buffer.uint32(buffer.field(calls, _CALL_INDEX, 4))
            arguments = buffer.lists_in(calls, _CALL_ARGUMENTS)
            for call in zip(types[which].tolist(), indices.tolist(), arguments, strict=True):
                yield _Call(*call)

    def _find_payloads(self) -> list[tuple[int, int] | None]:
        """Where the payload of each delegate starts and how long it is; None for a delegate that is not XNNPACK."""
        buffer = self.buffer
        inline = buffer.tables_in(self.program.root, _PROGRAM_INLINE_DATA)
        found: list[tuple[int, int] | None] = []
        for delegate in map(buffer.tables, buffer.tables_in(self.plan, _PLAN_DELEGATES).at.reshape(-1, 1)):
            at = buffer.field(delegate, _DELEGATE_DATA, 4)
            if buffer.text_in(delegate, _DELEGATE_ID) != BACKEND or not at[0]:
                found.append(None)
                continue
            data = buffer.tables(buffer.follow(at))
            index = int(buffer.uint32(buffer.field(data, _DATA_INDEX, 4))[0])
            is_segment = buffer.uint8(buffer.field(data, _DATA_LOCATION, 1))[0] == _IN_SEGMENT
            known = len(self.program.segments) if is_segment else len(inline)
            buffer.require(index < known, "the data of a delegate does not exist")
            found.append(self.program.segments[index] if is_segment else self._find_inline(inline, index))
        return found

    def _find_inline(self, inline: Tables, index: int) -> tuple[int, int]:
        at = self.buffer.field(self.buffer.tables(inline.at[index : index + 1]), _INLINE_DATA, 4)
        self.buffer.require(bool(at[0]), "the data of a delegate does not exist")
        first, length = self.buffer.vectors(self.buffer.follow(at), 1)
        return int(first[0]), int(length[0])

    def _describe_tensors(self) -> Mapping[int, TensorSpec]:
        tables = self.values.tensors
        has_memory, has_value = find_storage(self.buffer, tables)
        return {
            number: TensorSpec(tensor.shape, tensor.dtype, constant=bool(constant))
            for number, tensor, constant in zip(
                self.values.which.tolist(), read_tensors(self.buffer, tables), has_value & ~has_memory, strict=True
            )
        }

    def _build_operator(self, index: int, name: str, arguments: Sequence[int]) -> GraphNode:
        """Arguments are those of the operator's schema, the buffers it writes into last, and then what it returns."""
        returned = self._list_tensors(arguments[-1:])
        given = list(arguments[:-1])
        # Several buffers are one list, or an argument each.
        buffers = (count for count in (1, len(returned)) if self._list_tensors(given[-count:]) == returned)
        if returned and (count := next(buffers, 0)) < len(given):
            given = given[: len(given) - count]
        inputs = [self.tensors[number] for number in self._list_tensors(given)]
        return GraphNode(
            index=index,
            type=name,
            # An optional tensor that was left out is an empty one.
            inputs=tuple(tensor for tensor in inputs if tensor.elements),
            outputs=tuple(self.tensors[number] for number in returned),
            window=self._read_window(given) if name.startswith(_CONVOLUTION) else None,
        )

    def _list_tensors(self, numbers: Sequence[int]) -> list[int]:
        """The tensors among these values, and those of their lists."""
        lists = (_TENSOR_LIST, _OPTIONAL_TENSOR_LIST)
        expanded = [self._read_list(number) if self._kind(number) in lists else [number] for number in numbers]
        return [number for some in expanded for number in some if number in self.tensors]

    def _read_window(self, arguments: Sequence[int]) -> Window | None:
        if len(arguments) < _CONVOLUTION_ARGUMENTS or arguments[1] not in self.tensors:
            return None
        stride, padding, dilation = (
            tuple(self._read_number(each) for each in self._read_list(arguments[at])) for at in (3, 4, 5)
        )
        kernel = self.tensors[arguments[1]].shape[2:]
        if not (stride and padding and dilation):
            return None
        return build_convolution_window(
            kernel, stride=stride, padding=padding, dilation=dilation,
            transposed=bool(self._read_number(arguments[6])), groups=self._read_number(arguments[8]),
        )  # fmt: skip

    def _kind(self, number: int) -> int:
        return int(self.values.kinds[number]) if number < len(self.values) else 0

    def _read_number(self, number: int) -> int:
        """The value of an integer or a boolean; 0 for anything else."""
        if self._kind(number) not in (_INT, _BOOL) or not self.values.at[number]:
            return 0
        table = self.buffer.tables(self.buffer.follow(self.values.at[number : number + 1]))
        if self._kind(number) == _BOOL:
            return int(self.buffer.uint8(self.buffer.field(table, 0, 1))[0])
        return int(self.buffer.uint64(self.buffer.field(table, 0, 8))[0].astype(np.int64))

    def _read_list(self, number: int) -> list[int]:
        """The values that a list of tensors or of integers names; those of integers have 64 bits."""
        if self._kind(number) not in (_INT_LIST, _TENSOR_LIST, _OPTIONAL_TENSOR_LIST) or not self.values.at[number]:
            return []
        at = self.buffer.field(self.buffer.tables(self.buffer.follow(self.values.at[number : number + 1])), 0, 4)
        if not at[0]:
            return []
        width = 8 if self._kind(number) == _INT_LIST else 4
        first, length = self.buffer.vectors(self.buffer.follow(at), width)
        self._items_left -= int(length[0])
        self.buffer.require(self._items_left >= 0, "its lists are longer than the file")
        items: list[int] = self.buffer.uint32(first[0] + width * np.arange(length[0])).tolist()
        return items
