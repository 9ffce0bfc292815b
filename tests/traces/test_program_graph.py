"""The graph inside a .pte: nodes of the delegate, operators beside it, and files that lie."""

import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.core.graph import ModelGraph, TensorSpec, Window
from etprof.traces.program_graph import read_graphs
from etprof.traces.xnnpack_payload import DATA_TYPES, NODE_TYPES, fields_of
from parts import need
from payload_builder import DELEGATED, IMAGE, MADE, NO_VALUE, PAYLOAD, Node, Value, build_payload
from program_builder import FLOAT32, Call, Method, Number, Tensor, Values, build_program


def read(folder: Path, *methods: Method) -> dict[str, ModelGraph]:
    path = folder / "model.pte"
    path.write_bytes(build_program(*methods))
    return read_graphs(path)


def test_a_node_has_its_tensors_its_window_and_what_is_fused_into_it(tmp_path: Path) -> None:
    graph = read(tmp_path, DELEGATED)["forward"]
    ((node,),) = graph.partitions
    assert (graph.model, node.type, node.debug_handle) == ("model", "XNNConv2d", 1)
    assert node.inputs == (
        TensorSpec((1, 8, 8, 3), "fp32", id=0),
        TensorSpec((16, 3, 3, 3), "fp32", constant=True, id=1),
        TensorSpec((16,), "fp32", constant=True, id=2),
    )
    assert node.outputs == (TensorSpec((1, 4, 4, 16), "fp32", id=3),)
    assert (node.output_min, node.output_max) == (0.0, None)
    assert node.window == Window(kernel=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1), dilation=(1, 1))


def test_a_quantised_tensor_an_axis_order_and_a_missing_input_are_read(tmp_path: Path) -> None:
    values = [Value(0, (2, 3), "qint8", quantized=True), Value(7, (3, 2), "qint8", quantized=True)]
    nodes = [
        Node("XNNStaticTranspose", {"num_dims": 2, "perm": (1, 0), "input_id": 0, "output_id": 7}, handle=65535),
        Node("XNNFullyConnected", {"input1_id": 7, "filter_id": 0, "bias_id": NO_VALUE, "output_id": 7}),
    ]
    method = Method(calls=(Call(0, (0, 1)),), delegates=(("XnnpackBackend", build_payload(values, nodes)),))
    transpose, product = read(tmp_path, method)["forward"].partitions[0]
    assert transpose.perm == (1, 0)
    assert transpose.inputs == (TensorSpec((2, 3), "qint8", id=0),)
    assert [tensor.id for tensor in product.inputs] == [7, 0]


def test_a_payload_without_a_header_is_read_as_older_versions_wrote_it(tmp_path: Path) -> None:
    payload = build_payload([IMAGE, MADE], [Node("XNNSigmoid", {"input_id": 0, "output_id": 3})], header=False)
    method = Method(calls=(Call(0, (0, 1)),), delegates=(("XnnpackBackend", payload),))
    assert [node.type for node in read(tmp_path, method)["forward"].partitions[0]] == ["XNNSigmoid"]


def test_operators_outside_have_their_inputs_and_outputs_without_the_buffers_they_write_into(tmp_path: Path) -> None:
    image, weight, made = (
        Tensor((1, 3, 8, 8), FLOAT32),
        Tensor((6, 3, 3, 3), FLOAT32, has_memory=False, has_value=True),
        Tensor((1, 6, 6, 6), FLOAT32),
    )
    values = (
        image, weight, made, Number(1), Number(0), Values((3,), of_integers=True), Values((4,), of_integers=True),
        Number(False), Number(1), Tensor((0,), has_memory=False), Values((2, 2)),
    )  # fmt: skip
    calls = (
        Call("aten::convolution.out", (0, 1, 9, 5, 6, 5, 7, 6, 8, 2, 2)),
        Call("aten::cat.out", (10, 3, 2, 2)),
        Call("aten::split_copy.out", (2, 3, 10, 10)),
        Call("aten::sym_size.int", (0, 3, 4)),
    )
    method = Method(values=values, inputs=(0,), outputs=(2,), calls=calls)
    convolution, joined, split = read(tmp_path, method)["forward"].undelegated
    assert convolution.type == "aten::convolution.out"
    assert [(tensor.shape, tensor.constant) for tensor in convolution.inputs] == [
        ((1, 3, 8, 8), False), ((6, 3, 3, 3), True),
    ]  # fmt: skip
    assert convolution.outputs == (TensorSpec((1, 6, 6, 6), "float32"),)
    assert convolution.window == Window(kernel=(3, 3), stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1))
    assert [len(joined.inputs), len(joined.outputs)] == [2, 1]
    assert [len(split.inputs), len(split.outputs)] == [1, 2]


def test_methods_have_graphs_of_their_own_and_other_delegates_no_nodes(tmp_path: Path) -> None:
    other = Method("other", calls=(Call(0, (0, 1)),), delegates=(("VulkanBackend", b"anything"),))
    graphs = read(tmp_path, DELEGATED, other, Method("none"))
    assert [len(nodes) for nodes in graphs["forward"].partitions] == [1]
    assert graphs["other"].partitions == ((),)
    assert (graphs["none"].partitions, graphs["none"].undelegated) == ((), ())


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (b"short", "an XNNPACK payload is cut off"),
        (b"\0" * 64, "an XNNPACK payload is of an unknown format"),
        (PAYLOAD[:-40], "an XNNPACK graph ends beyond its payload"),
        (build_payload([IMAGE], [Node("NONE")]), "an XNNPACK node is unknown"),
    ],
)
def test_a_payload_that_is_none_is_refused_with_one_sentence(tmp_path: Path, payload: bytes, problem: str) -> None:
    method = Method(calls=(Call(0, (0, 1)),), delegates=(("XnnpackBackend", payload),))
    with pytest.raises(TraceError, match=problem):
        read(tmp_path, method)


def test_a_call_of_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="an instruction calls what does not exist"):
        read(tmp_path, Method(calls=(Call(3, (0, 1)),)))


def test_a_program_that_was_cut_off_or_changed_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    whole, path = build_program(DELEGATED), tmp_path / "model.pte"
    for at in range(8, len(whole), 3):
        for changed in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            path.write_bytes(changed)
            with suppress(TraceError):
                read_graphs(path)


def test_the_tables_of_fields_are_those_of_the_wheels_schema() -> None:
    schema = schema_text()
    union = block(schema, "union XNodeUnion")
    tables = dict(re.findall(r"(\w+)(?::\s*(\w+))?,", union))
    assert ("NONE", *tables) == NODE_TYPES
    for node, alias in tables.items():
        fields = re.findall(r"^\s*(\w+)\s*:", block(schema, f"table {alias or node}"), re.MULTILINE)
        assert fields_of(node) == tuple(fields), node
    types = re.findall(r"xnn_datatype_(\w+) = (\d+)", block(schema, "enum XNNDatatype"))
    assert [DATA_TYPES[int(number)] for _, number in types] == [name for name, _ in types]


def schema_text() -> str:
    found = find_spec("executorch")
    need(found, "executorch is not installed")
    assert found is not None
    folder = Path(next(iter(found.submodule_search_locations or ())))
    text = (folder / "backends/xnnpack/serialization/schema.fbs").read_text(encoding="utf-8")
    return re.sub(r"//.*", "", text)


def block(schema: str, opening: str) -> str:
    return schema.split(f"{opening} ", 1)[1].partition("{")[2].partition("}")[0]
