"""Profiles of ONNX Runtime as traces: every microsecond has an owner, and what is no profile is refused."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.operator_statistics import collect_operators, describe_operators
from etprof.core.errors import TraceError
from etprof.core.trace import EventKind, Trace
from etprof.traces.onnxruntime_profile import read_profile
from etprof.traces.trace_file import read_trace
from onnxruntime_builder import Node, build_profile, write_profile
from trace_builder import DATA

FILTER, POINTWISE, DEPTHWISE = [8, 3, 3, 3], [16, 8, 1, 1], [8, 1, 3, 3]
NODES = (
    Node("ReorderInput", 20),
    Node("Conv", 300, (("float", [1, 3, 8, 8]), ("float", FILTER))),
    Node("FusedConv", 200, (("float", [1, 8, 8, 8]), ("float", DEPTHWISE))),
    Node("Conv", 400, (("float", [1, 8, 8, 8]), ("float", POINTWISE))),
    Node("Relu", 10),
    Node("Relu", 11),
    Node("Gemm", 50, (("float16", [1, 16]), ("float16", [16, 4]))),
    Node("Cast", 5, (("int64", [1]),)),
)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return read_trace(write_profile(tmp_path / "on_t1.ortprofile", NODES))


def test_each_inference_is_a_run_and_loading_belongs_to_none(trace: Trace) -> None:
    assert trace.run_count == 3
    assert trace.signature_count == 1
    assert trace.names_of(trace.kind == EventKind.SETUP) == ("model_loading_uri", "session_initialization")
    assert trace.notes == ()


def test_nodes_are_operators_with_type_and_number_and_shapes_as_metadata(trace: Trace) -> None:
    (table,) = collect_operators([trace])
    assert table.names == (
        "ReorderInput (ONNX, F32) #1", "Conv (ONNX, F32) #1", "FusedConv (ONNX, F32) depthwise #1",
        "Conv (ONNX, F32) 1x1 #1", "Relu (ONNX, F32) #1", "Relu (ONNX, F32) #2", "Gemm (ONNX, F16) #1",
        "Cast (ONNX, INT64) #1",
    )  # fmt: skip
    assert json.loads(table.metadata[1])["node"] == "node_1"
    assert json.loads(table.metadata[1])["inputs"] == ["float [1, 3, 8, 8]", "float [8, 3, 3, 3]"]


def test_time_has_owners_that_add_up_to_the_whole(trace: Trace) -> None:
    accounting = build_accounting([trace])
    whole = sum(node.us for node in NODES)
    gaps = 2 * len(NODES) + 2
    assert accounting.delegated_ns == accounting.runs * whole * 1000
    assert accounting.delegate_overhead_ns == accounting.runs * gaps * 1000
    assert accounting.end_to_end_ns == accounting.runs * (whole + gaps + 15) * 1000
    rows = build_categories(collect_operators([trace]), accounting)
    assert {row.name: round(row.mean_ms * 1000) for row in rows if row.mean_ms} == {
        "Convolution": 900, "GEMM": 50, "Data Movement": 25, "Elementwise": 21, "Delegate overhead": gaps,
        "Framework overhead": 15,
    }  # fmt: skip
    details = describe_operators(collect_operators([trace]), accounting.end_to_end_ns)
    assert {each.row.subcategory for each in details} >= {"depthwise", "pointwise", "convolution", "activation"}


def test_a_node_that_contains_others_owns_none_of_their_time(tmp_path: Path) -> None:
    nodes = (Node("Add", 100), Node("Mul", 50), Node("If", 200, encloses=2))
    trace = read_profile(write_profile(tmp_path / "p", nodes))
    assert trace.names_of(trace.kind == EventKind.DELEGATE_STAGE) == ("If (ONNX, F32) #1",)
    accounting = build_accounting([trace])
    assert accounting.delegated_ns == accounting.runs * 150_000
    assert accounting.end_to_end_ns - accounting.delegated_ns == accounting.runs * (200 - 150 - 1 + 2 + 2 + 15) * 1000


def test_an_etdump_is_read_as_one_whatever_its_first_byte_is(tmp_path: Path) -> None:
    content = bytearray((DATA / "traces" / "small_cnn.etdump").read_bytes())
    # The first bytes are a size; one that ends in the byte of a bracket may be smaller than the file by up to 255.
    content[0] = ord("[")
    content += bytes(256)
    path = tmp_path / "x.etdump"
    path.write_bytes(content)
    assert read_trace(path).run_count > 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no inference"),
        ("[1]", "is not a profile of ONNX Runtime: 0"),
        ("[{", "is not a profile of ONNX Runtime: the file: Invalid JSON"),
        ('[{"cat": "Session", "name": "model_run", "ts": -5, "dur": 1}]', "a time is out of range"),
        ('[{"cat": "Session", "name": "model_run", "ts": 1, "dur": 9999999999999999999}]', "a time is out of range"),
    ],
)
def test_what_is_no_profile_is_refused_with_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "p.ortprofile"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert said in caught.value.message
    assert caught.value.hint


@given(st.data())
def test_no_profile_is_more_than_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    events = build_profile(NODES[:3], runs=2)
    event = data.draw(st.sampled_from(events))
    key = data.draw(st.sampled_from(sorted(event)))
    event[key] = data.draw(st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2))
    path = tmp_path_factory.mktemp("fuzz") / "p"
    path.write_text(json.dumps(events), encoding="utf-8")
    with suppress(TraceError):
        assert read_trace(path).run_count >= 0
