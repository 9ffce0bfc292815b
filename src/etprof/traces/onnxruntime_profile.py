"""Reads the profile that ONNX Runtime writes (JSON) into the columns of a trace."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from etprof.core.errors import TraceError
from etprof.core.regular_files import read_regular
from etprof.core.trace import Trace
from etprof.traces.event_kinds import EventColumns, TraceParts, build_trace

_MOST_BYTES = 1 << 30
_MOST_US = 1 << 50
_NS_PER_US = 1_000
# What each of its events is called here: an inference, and the part of it that runs nodes.
_INFERENCE, _NODES = "model_run", "SequentialExecutor::Execute"
_NAMES = {_INFERENCE: "Method::execute", _NODES: "DELEGATE_CALL"}
_NODE = "_kernel_time"
# As XNNPACK spells them in the names of its operators.
_TYPES = {"float": "F32", "float16": "F16", "bfloat16": "BF16", "double": "F64", "int8": "S8", "uint8": "U8"}


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore")

    op_name: str = ""
    provider: str = ""
    input_type_shape: list[dict[str, Any]] = []
    output_type_shape: list[dict[str, Any]] = []


class _Event(BaseModel):
    model_config = ConfigDict(extra="ignore")

    cat: str = ""
    name: str = ""
    ts: int = 0
    dur: int = 0
    args: _Arguments = _Arguments()


@dataclass
class _Rows:
    """Events in the order in which they ended; those of one inference, or of loading the model, are a block."""

    names: dict[str, int] = field(default_factory=dict)
    rows: list[tuple[int, int, bool, int, int]] = field(default_factory=list)

    def add(self, name: str, block: int, event: _Event, *, is_node: bool = False) -> None:
        number = self.names.setdefault(name, len(self.names))
        self.rows.append((number, block, is_node, event.ts * _NS_PER_US, event.dur * _NS_PER_US))


def read_profile(path: Path) -> Trace:
    events = _read_events(path)
    rows = _Rows()
    blocks = 1
    inference: list[_Event] = []
    for event in events:
        if (event.cat == "Node" and event.name.endswith(_NODE)) or event.name == _NODES:
            inference.append(event)
        elif event.name == _INFERENCE:
            _add_inference([*inference, event], blocks, rows)
            blocks, inference = blocks + 1, []
        elif event.cat == "Session" and blocks == 1:
            rows.add(event.name, 0, event)
    if blocks == 1:
        raise TraceError(f"{path} holds no inference.", hint="Record it again: etprof run writes such profiles.")
    return build_trace(_build_parts(rows, blocks))


def _add_inference(events: list[_Event], block: int, rows: _Rows) -> None:
    counts: Counter[str] = Counter()
    # A node with a graph of its own, such as If, executes that inside of the whole.
    whole = next((event for event in reversed(events) if event.name == _NODES), None)
    for event in events:
        if event.name == _NODES and event is not whole:
            continue
        if event.cat == "Node":
            kind = _describe_kind(event.args)
            counts[kind] += 1
            rows.add(_describe_node(f"{kind} #{counts[kind]}", event), block, event, is_node=True)
        else:
            rows.add(_NAMES[event.name], block, event)


def _describe_kind(node: _Arguments) -> str:
    """Such as Conv (ONNX, F32): with the type of its first input of floating point, or of its first one."""
    types = [_TYPES.get(name, name.upper()) for tensor in node.input_type_shape for name in tensor]
    first = next((name for name in types if name in ("F32", "F16", "BF16", "F64")), types[0] if types else "")
    kind = f"{node.op_name} (ONNX, {first})" if first else f"{node.op_name} (ONNX)"
    return f"{kind} {shape}" if (shape := _describe_filter(node)) else kind


def _describe_filter(node: _Arguments) -> str:
    """Of a convolution: whether its filter is 1x1, or has one input channel for each of several."""
    shapes = [shape for tensor in node.input_type_shape[:2] for shape in tensor.values() if isinstance(shape, list)]
    if not node.op_name.endswith("Conv") or len(shapes) < 2 or min(map(len, shapes)) < 3:
        return ""
    given, (_, channels, *sizes) = shapes
    if channels == 1 and 1 not in (given[1], given[-1]):
        return "depthwise"
    return "1x1" if all(size == 1 for size in sizes) else ""


def _describe_node(name: str, event: _Event) -> str:
    """An object whose name is shown, and whose rest is kept as metadata."""
    node = event.args
    parts: Mapping[str, Any] = {
        "name": name,
        "node": event.name.removesuffix(_NODE),
        "provider": node.provider,
        "inputs": list(_format_tensors(node.input_type_shape)),
        "outputs": list(_format_tensors(node.output_type_shape)),
    }
    return json.dumps(parts)


def _format_tensors(tensors: list[dict[str, Any]]) -> Iterator[str]:
    for tensor in tensors:
        yield from (f"{name} {shape}" for name, shape in tensor.items())


def _read_events(path: Path) -> list[_Event]:
    hint = "Name a profile that ONNX Runtime wrote: etprof run leaves one for each block."
    try:
        events = TypeAdapter(list[_Event]).validate_json(read_regular(path, _MOST_BYTES))
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise TraceError(f"{path} is not a profile of ONNX Runtime: {where}: {first['msg']}.", hint=hint) from error
    in_range = all(0 <= event.ts <= _MOST_US and event.dur >= 0 for event in events)
    if not in_range or sum(event.dur for event in events) > _MOST_US:
        raise TraceError(f"{path} is not a profile of ONNX Runtime: a time is out of range.", hint=hint)
    return events


def _build_parts(rows: _Rows, blocks: int) -> TraceParts:
    columns = EventColumns.empty(len(rows.rows))
    table = np.array(rows.rows, np.int64)
    columns.name[:], columns.block[:] = table[:, 0], table[:, 1]
    columns.is_delegated[:] = table[:, 2]
    columns.start_ns[:], columns.duration_ns[:] = table[:, 3], table[:, 4]
    columns.instruction[:] = 0
    columns.filled = len(rows.rows)
    names = tuple(rows.names)
    return TraceParts(columns, names, ("load", *["inference"] * (blocks - 1)), ())
