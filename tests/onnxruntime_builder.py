"""Profiles as ONNX Runtime writes them, node by node."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Node:
    """A node that takes so many microseconds; of its inputs type and shape. `encloses` is how many nodes before it."""

    operator: str
    us: int
    inputs: Sequence[tuple[str, list[int]]] = (("float", [1, 8, 4, 4]),)
    encloses: int = 0


def build_profile(nodes: Sequence[Node], runs: int = 3, gap_us: int = 2) -> list[dict[str, Any]]:
    """Loading the model, then inferences of these nodes with a gap before each of them."""
    events = [_event("Session", "model_loading_uri", 0, 900), _event("Session", "session_initialization", 900, 5000)]
    at = 10_000
    for _ in range(runs):
        begin, at = at, at + 10
        execute, starts = at, list[int]()
        for index, node in enumerate(nodes):
            start = starts[index - node.encloses] - 1 if node.encloses else at + gap_us
            starts.append(start)
            if node.encloses:
                events.append(_event("Session", "SequentialExecutor::Execute", start, node.us - 1))
            events.append(_event("Node", f"node_{index}_kernel_time", start, node.us, _arguments(node)))
            at = max(at, start + node.us)
        at += gap_us
        events.append(_event("Session", "SequentialExecutor::Execute", execute, at - execute))
        at += 5
        events.append(_event("Session", "model_run", begin, at - begin))
        at += 100
    return events


def write_profile(path: Path, nodes: Sequence[Node], **changes: Any) -> Path:
    path.write_text(json.dumps(build_profile(nodes, **changes)), encoding="utf-8")
    return path


def _event(category: str, name: str, at: int, us: int, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"cat": category, "pid": 1, "tid": 1, "dur": us, "ts": at, "ph": "X", "name": name, "args": arguments or {}}


def _arguments(node: Node) -> dict[str, Any]:
    return {
        "op_name": node.operator,
        "provider": "CPUExecutionProvider",
        "node_index": "0",
        "thread_scheduling_stats": {"main_thread": {"core": 1}},
        "input_type_shape": [{name: shape} for name, shape in node.inputs],
        "output_type_shape": [{"float": [1, 8, 4, 4]}],
    }
