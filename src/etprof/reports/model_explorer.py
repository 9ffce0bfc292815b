"""The model's graph and the measured times in the formats of Model Explorer, a viewer for graphs.

The graph is one file. Beside it lies a file of node data for each quantity, with values for three graphs: this one, the
program as Model Explorer's adapter for .pte files shows it, and the delegates that the adapter opens.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from etprof.core.graph import TensorSpec
from etprof.core.graph_view import MODULES, PROGRAM, GraphView, Overlay, Quantity, ViewNode
from etprof.core.layout import MODEL_EXPLORER_FOLDER
from etprof.core.report import Report
from etprof.core.units import NO_TIMES
from etprof.reports.palette import MARK, PAPER, instruction_colour

_DIGITS = 6
_GRADIENT = [{"stop": 0, "bgColor": PAPER}, {"stop": 1, "bgColor": MARK}]
# Slower, about the same, faster, more than twice as fast: each up to its value.
_SPEEDUPS = ((0.98, "#e69f00"), (1.02, "#f0f0f0"), (2.0, "#a6dba0"), (1e9, "#5aae61"))
_STYLES: Mapping[Quantity, dict[str, Any]] = {
    Quantity.TIME: {"gradient": _GRADIENT},
    Quantity.SHARE: {"gradient": _GRADIENT},
    Quantity.SPEEDUP: {
        "thresholds": [{"value": value, "bgColor": colour} for value, colour in _SPEEDUPS],
        # Ratios have no sum.
        "hideAggregatedStats": ["sum"],
    },
    Quantity.KERNELS: {"showExpandedSummaryOnGroupNode": True},
}


def render(report: Report) -> str:
    """A collection of graphs, which Model Explorer opens as it is."""
    graphs = [_describe_graph(view, report) for view in report.views]
    missing = {} if graphs else {"missing": _describe_missing(report)}
    return _dump({"label": report.model, "graphs": graphs, **missing})


def render_files(report: Report) -> dict[str, bytes]:
    return {
        f"{MODEL_EXPLORER_FOLDER}/{overlay.stem}_{overlay.quantity.name.lower()}.json": _dump(
            _describe_data(view, overlay)
        ).encode("utf-8")
        for view in report.views
        for overlay in view.overlays
    }


def _dump(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _describe_missing(report: Report) -> str:
    return "no block of this run recorded a trace" if report.times_are_real else NO_TIMES


def _describe_graph(view: GraphView, report: Report) -> dict[str, Any]:
    facts = {"report": report.title, "model": view.model, "method": view.method}
    if not any(overlay.quantity is Quantity.TIME for overlay in view.overlays):
        facts["missing"] = _describe_missing(report)
    return {
        "id": _graph_id(view, MODULES),
        "nodes": [_describe_node(node, view.overlays) for node in view.nodes],
        "groupNodeAttributes": {"": facts},
    }


def _describe_node(node: ViewNode, overlays: Sequence[Overlay]) -> dict[str, Any]:
    """What was measured at it is among its attributes, too, for whoever opens the graph alone."""
    measured = {
        _title(overlay): str(_describe_value(overlay.values[MODULES][node.id])["value"])
        for overlay in overlays
        if node.id in overlay.values.get(MODULES, {})
    }
    return {
        "id": node.id,
        "label": node.label,
        "namespace": node.group.replace(".", "/"),
        "attrs": [{"key": key, "value": value} for key, value in {**node.attributes, **measured}.items()],
        "incomingEdges": [
            {"sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": str(place)}
            for place, source in enumerate(node.sources)
        ],
        "outputsMetadata": [
            {"id": str(place), "attrs": _describe_tensor(tensor)} for place, tensor in enumerate(node.outputs)
        ],
    }


def _describe_tensor(tensor: TensorSpec) -> list[dict[str, str]]:
    shape = "x".join(map(str, tensor.shape))
    return [{"key": "shape", "value": shape}, {"key": "dtype", "value": tensor.dtype}]


def _describe_data(view: GraphView, overlay: Overlay) -> dict[str, Any]:
    """Model Explorer looks data up by the id of the graph that is open."""
    return {
        _graph_id(view, graph): {
            "name": _title(overlay),
            "results": {_node_id(view, graph, node): _describe_value(value) for node, value in nodes.items()},
            **_STYLES[overlay.quantity],
        }
        for graph, nodes in overlay.values.items()
    }


def _title(overlay: Overlay) -> str:
    return f"{overlay.title}: {overlay.quantity.value}"


def _describe_value(value: float | str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"value": value, "bgColor": instruction_colour(value)}
    return {"value": float(f"{value:.{_DIGITS}g}")}


def _graph_id(view: GraphView, graph: str) -> str:
    """Those of the program and of delegates are given by pte-adapter-model-explorer 0.2."""
    if graph == MODULES:
        return f"etprof {PurePath(view.model).stem} {view.method}"
    return view.method if graph == PROGRAM else f"{view.model}::{view.method}_0_{graph}"


def _node_id(view: GraphView, graph: str, node: str) -> str:
    # ExecuTorch's programs have one chain of instructions, number 0.
    return f"{view.method}_0_{node}" if graph == PROGRAM else node
