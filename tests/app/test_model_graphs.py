"""The graph of a model: from its graph.json, or out of the .pte, and only of the file that ran."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.model_graphs import find_graph, load_named_graph, read_model_graphs
from etprof.core.digest import file_sha256
from etprof.core.errors import UsageError
from etprof.core.layout import graph_path
from etprof.export.graph_file import save_graph
from etprof.traces.program_graph import read_graphs
from payload_builder import DELEGATED
from program_builder import Method, Number, build_program
from trace_builder import recorded_graph


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.pte"
    path.write_bytes(build_program(DELEGATED))
    return path


def test_without_a_graph_file_the_program_itself_is_read_if_it_is_the_one_that_ran(model: Path) -> None:
    found = find_graph(model, "forward", file_sha256(model))
    assert found is not None
    assert [node.type for node in found.partitions[0]] == ["XNNConv2d"]
    assert find_graph(model, sha256="of another file") is None
    assert find_graph(model.with_name("none.pte")) is None
    assert find_graph(model, "other") is None


def test_the_graph_file_of_the_export_comes_first(model: Path) -> None:
    save_graph(graph_path(model), recorded_graph("small_cnn"))
    assert find_graph(model, sha256="of another file") == recorded_graph("small_cnn")


def test_modules_are_named_by_a_graph_file_of_the_same_nodes_and_by_no_other(model: Path) -> None:
    own = read_graphs(model)["forward"]
    named = replace(own, partitions=(tuple(replace(node, module_path="stem") for node in own.partitions[0]),))
    save_graph(graph_path(model), named)
    assert read_model_graphs(model)["forward"].partitions[0][0].module_path == "stem"
    save_graph(graph_path(model), recorded_graph("small_cnn"))
    assert read_model_graphs(model)["forward"] == own


def test_a_trace_may_be_given_the_program_in_place_of_a_graph_file(model: Path) -> None:
    assert load_named_graph(model) == read_graphs(model)["forward"]
    model.write_bytes(build_program(replace(DELEGATED, name="encode"), Method("decode")))
    with pytest.raises(UsageError, match=r"several methods and none is called forward: encode, decode"):
        load_named_graph(model)


def test_methods_that_only_return_a_value_have_no_graph(model: Path) -> None:
    model.write_bytes(build_program(DELEGATED, Method("get_max_seq_len", (Number(128),), (), (0,))))
    assert list(read_model_graphs(model)) == ["forward"]
    save_graph(graph_path(model), replace(read_graphs(model)["forward"], model="named"))
    assert read_model_graphs(model)["forward"].model == "named"
