"""Model Explorer itself finds every operator of a run: on our graph, on the program's, and inside the delegate."""

from pathlib import Path

import pytest

from etprof.app.reporting import analyze, write_format
from etprof.core.report import Report
from etprof.core.run import Session
from etprof.traces.xnnpack_payload import fields_of
from model_explorer import Loaded, load_in_model_explorer
from payload_builder import Node, Value, build_payload
from program_builder import FLOAT32, Call, Method, Tensor, build_program
from report_builder import with_graph


def write_files(report: Report, folder: Path) -> tuple[Path, list[Path]]:
    graph = write_format(report, "model-explorer", folder / "model_explorer.json")
    return graph, sorted((folder / "model_explorer").glob("*.json"))


def assert_every_operator_is_found(report: Report, loaded: Loaded) -> None:
    (view,) = report.views
    own = f"etprof {Path(view.model).stem} {view.method}"
    assert set(loaded.data) == {f"{each.stem}_{each.quantity.name.lower()}.json" for each in view.overlays}
    for name, graphs in loaded.data.items():
        for graph, results in graphs.items():
            assert set(results) <= set(loaded.graphs[graph]), (name, graph)
    for variant in report.measured:
        times = loaded.data[f"{variant.variant.stem}_time.json"]
        total = sum(row.mean_ms for row in variant.operators)
        assert sum(map(float, times[own].values())) == pytest.approx(total, rel=1e-4)
        # Calls as a whole take at least as long as the operators in them.
        assert sum(map(float, times[view.method].values())) >= total * 0.9999
        inside = sum(float(ms) for graph in times if "::" in graph for ms in times[graph].values())
        delegated = sum(row.mean_ms for row in variant.operators if row.delegated)
        assert inside == pytest.approx(delegated, rel=1e-4)


def assert_nodes_are_the_same(report: Report, loaded: Loaded) -> None:
    """The adapter and we read the same kinds of nodes from the same places of the program."""
    (view,) = report.views
    ours = loaded.graphs[f"etprof {Path(view.model).stem} {view.method}"]
    delegates = [graph for graph in loaded.graphs if "::" in graph]
    for call, graph in enumerate(delegates):
        theirs = {f"call{call}.node{id}": label for id, label in loaded.graphs[graph].items() if id.isdecimal()}
        assert theirs == {id: label for id, label in ours.items() if id.startswith(f"call{call}.")}
        assert loaded.graphs[view.method][graph.partition("::")[2]] == "XnnpackBackend"


def test_every_operator_of_a_real_run_is_found(real_run: Session, tmp_path: Path) -> None:
    report = analyze(real_run.plan.output_root).report
    graph, node_data = write_files(report, tmp_path)
    loaded = load_in_model_explorer(graph, real_run.plan.model, node_data)
    assert_every_operator_is_found(report, loaded)
    assert_nodes_are_the_same(report, loaded)


def a_payload(*types: str) -> bytes:
    """Nodes in a row, each of which reads what the one before it made."""
    values = [Value(number, (4, 64)) for number in range(len(types) + 1)]
    read = [next(name for name in fields_of(type) if name in ("input_id", "input1_id")) for type in types]
    nodes = [Node(type, {read[at]: at, "output_id": at + 1}) for at, type in enumerate(types)]
    return build_payload(values, nodes)


def test_portable_operators_and_several_delegates_are_found_by_their_instructions(tmp_path: Path) -> None:
    """The program of the builders' graph: a delegate, an operator, another delegate."""
    tensors = tuple(Tensor((4, 64), FLOAT32) for _ in range(4))
    first = a_payload("XNNConv2d", "XNNStaticTranspose", "XNNFullyConnected")
    second = a_payload("XNNStaticTranspose", "XNNAdd", "XNNSoftmax")
    calls = (Call(0, (0, 1)), Call("aten::upsample_nearest2d.vec_out", (1, 2)), Call(1, (2, 3)))
    delegates = (("XnnpackBackend", first), ("XnnpackBackend", second))
    program = tmp_path / "model.pte"
    method = Method("forward", tensors, (0,), (3,), calls, delegates)
    program.write_bytes(build_program(method))
    report = with_graph(tmp_path)
    graph, node_data = write_files(report, tmp_path)
    loaded = load_in_model_explorer(graph, program, node_data)
    assert_every_operator_is_found(report, loaded)
    assert_nodes_are_the_same(report, loaded)
    assert loaded.graphs["forward"]["forward_0_1"] == "aten::upsample_nearest2d"
