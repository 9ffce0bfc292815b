"""Surprises of an export are found where the evidence is, and only there."""

from dataclasses import replace

import pytest

from builders import an_export_meta
from etprof.analysis.graph.precision import find_cuts, find_fp32_compute, find_unshrunk_weights
from etprof.core.findings import FindingKind
from etprof.core.graph import GraphNode
from etprof.core.model import Delegation, ExportedFile, ExportMeta, LeftOperator
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.rows import OperatorRow
from graph_builder import a_graph, a_node, a_tensor
from report_builder import an_operator

ON = Variant("on", 1)
FP16 = an_export_meta(dtype="fp16", precision="fp16", pte=ExportedFile("m.pte", 150_000, "0" * 64))
INT8 = an_export_meta(precision="q8", quantization={"scheme": "static"})
F32, F16 = "Convolution (NHWC, F32) IGEMM #1", "Convolution (NHWC, F16) IGEMM #2"


def rows(*names: str) -> list[OperatorRow]:
    named = enumerate(names)
    return [replace(an_operator(f"d0.{i}", name, ms=i + 1.0), module_path=f"blocks.{i}") for i, name in named]


def convolution(index: int, weights: str, *, module: str = "conv", given: str = "fp16") -> GraphNode:
    filter_, bias = (a_tensor(None, *shape, dtype=weights, constant=True) for shape in ((16, 3, 3, 16), (16,)))
    image = a_tensor(index, 1, 8, 8, 16, dtype=given)
    return a_node(index, "XNNConv2d", index + 1, inputs=(image, filter_, bias), outputs=(image,), module=module)


def test_an_fp16_build_whose_convolutions_run_as_f32_is_a_finding() -> None:
    (finding,) = find_fp32_compute(FP16, ON, rows(F16, F32, "Fully Connected (NC, F32) GEMM #1"), {})
    assert finding.kind is FindingKind.PRECISION
    assert finding.message == (
        "on, 1 thread: the model was exported as fp16, but 2 of 3 Convolution and GEMM operators run in fp32 "
        "(5.00 ms); the longest is Fully Connected (NC, F32) GEMM #1 in blocks.2."
    )


@pytest.mark.parametrize(
    ("given", "advice"), [("fp32", "The model itself computes in fp32"), ("fp16", "XNNPACK has no fp16 kernel")]
)
def test_the_graph_tells_whether_the_model_or_xnnpack_chose_fp32(given: str, advice: str) -> None:
    nodes = {OperatorId("d0.0"): convolution(0, "fp32", given=given)}
    (finding,) = find_fp32_compute(FP16, ON, rows(F32), nodes)
    assert finding.advice.startswith(advice)
    assert "1 of 1 Convolution and GEMM operator runs in fp32" in finding.message


def test_a_statically_quantised_build_that_runs_in_fp32_is_a_finding() -> None:
    (finding,) = find_fp32_compute(INT8, ON, rows("Convolution (NHWC, QS8, QC8W) IGEMM #1", F32), {})
    assert "exported as INT8, but 1 of 2" in finding.message


@pytest.mark.parametrize(
    ("meta", "names"),
    [
        (an_export_meta(), (F32,)),
        (FP16, (F16, "Transpose (ND, X32) #1", "native_call_convolution.out")),
        (an_export_meta(precision="q8", quantization={"scheme": "linear-dynamic"}), (F32,)),
    ],
)
def test_what_runs_as_it_was_exported_is_no_finding(meta: ExportMeta, names: tuple[str, ...]) -> None:
    operators = [replace(row, delegated=not row.name.startswith("native_call_")) for row in rows(*names)]
    assert list(find_fp32_compute(meta, ON, operators, {})) == []


def test_fp16_weights_that_are_stored_as_fp32_are_a_finding_with_their_layers() -> None:
    layers = [convolution(index, "fp32", module=f"stage.{index}") for index in range(5)]
    (finding,) = find_unshrunk_weights(FP16, a_graph(tuple(layers)))
    assert finding.kind is FindingKind.FILE_SIZE
    assert finding.message == (
        "The model was exported as fp16, but 45.3 KiB of its 45.3 KiB of weights (100 %) are stored as fp32: the "
        "filters of 5 layers (stage.0, stage.1, stage.2 and 2 more). The file has 146.5 KiB."
    )


def test_weights_that_shrank_and_builds_that_should_not_are_no_finding() -> None:
    as_fp16, as_fp32 = (a_graph((convolution(0, dtype),)) for dtype in ("fp16", "fp32"))
    assert list(find_unshrunk_weights(FP16, as_fp16)) == []
    assert list(find_unshrunk_weights(an_export_meta(), as_fp32)) == []
    assert list(find_unshrunk_weights(FP16, a_graph(()))) == []


def test_many_partitions_name_the_operator_that_cuts_them_with_modules_and_reason() -> None:
    left = (LeftOperator("aten.gelu.default", 5, "unsupported dtype float16."), LeftOperator("aten.mean.dim", 1, ""))
    meta = replace(FP16, delegation=Delegation(6, 40, 6, 0.9, {}, left))
    portable = [
        replace(an_operator(f"p{i}", f"native_call_gelu.out #{i + 1}"), module_path=f"blocks.{i}.act") for i in range(5)
    ]
    between = dict.fromkeys(range(5), ("native_call_gelu.out",)) | {2: ("native_call_mean.out",)}
    (finding,) = find_cuts(meta, between, portable, partitions=6)
    assert finding.kind is FindingKind.PARTITIONS
    assert finding.message == (
        "The model runs as 6 partitions: gelu is not delegated and cuts it in 4 of 5 places "
        "(blocks.0.act, blocks.1.act, blocks.2.act and 2 more). The partitioner says: unsupported dtype float16."
    )


def test_a_few_partitions_and_cuts_without_an_operator_are_no_finding() -> None:
    between = {0: ("native_call_gelu.out",)}
    assert list(find_cuts(FP16, between, [], partitions=2)) == []
    assert list(find_cuts(FP16, {}, [], partitions=9)) == []
    assert len(list(find_cuts(None, between, [], partitions=9))) == 1
