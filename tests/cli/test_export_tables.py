"""What is said of exported files: facts of one, a table of many that fits, and every path and reason whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import an_export_meta
from etprof.cli.export_tables import (
    artifact_facts,
    converted_line,
    debug_line,
    describe_cell,
    matrix_lines,
    matrix_table,
    reason_lines,
)
from etprof.core.errors import EtprofError, ExportError
from etprof.core.graph import TensorSpec
from etprof.core.model import Artifact, Delegation, ExportedFile, LeftOperator, Numerics, Weights
from etprof.core.runtimes import ONNXRUNTIME, ConvertedProgram
from etprof.export.request import ExportRequest, Quantization
from etprof.reports.text_table import render_table
from graph_builder import a_node

LEFT = (LeftOperator("aten.gelu.default", 2, "fp16 is refused"), LeftOperator("aten.gelu.default", 1, ""))
ARTIFACT = Artifact(
    Path("out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte"),
    an_export_meta(
        delegation=Delegation(2, 9, 3, 0.75, {}, LEFT),
        numerics=Numerics("eager", 50.0, 107.25, ()),
        weights=Weights(source="random", seed=7, sha256="3" * 64),
    ),
)
REQUESTS = [ExportRequest("toy_cnn"), ExportRequest("a_model_of_a_longer_name", quantization=Quantization())]
RESULTS: list[Artifact | EtprofError] = [
    ARTIFACT,
    ExportError("It cannot be lowered, for a reason that takes a long sentence to tell a reader."),
]


def test_the_program_of_another_runtime_has_a_line() -> None:
    program = ConvertedProgram(
        runtime=ONNXRUNTIME,
        program=ExportedFile("toy_cnn_xnnpack_fp32.onnx", 2048, "0" * 64),
        pte=ARTIFACT.meta.pte,
        weights_sha256="3" * 64,
        precision="fp32",
        versions={},
        numerics=ARTIFACT.meta.numerics,
        etprof_version="0.2.0",
        created_at="2026-01-01T00:00:00+00:00",
    )
    assert converted_line(ARTIFACT, program) == (
        "for ONNX Runtime: out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.onnx, 2.0 KiB, 107.2 dB (floor 50 dB)"
    )


def test_the_facts_of_a_file() -> None:
    assert artifact_facts(ARTIFACT) == {
        "file": "out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte",
        "size": "1 B",
        "weights": "random, seed 7",
        "partitions": "2",
        "delegated": "75.0 % of 12 operators",
        "left out": "3 aten.gelu.default",
        "SNR": "107.2 dB (floor 50 dB)",
    }


def test_operators_that_were_left_out_have_their_reasons() -> None:
    assert list(reason_lines(ARTIFACT)) == [
        "2 x aten.gelu.default left out: fp16 is refused",
        "1 x aten.gelu.default left out: the partitioner gave no reason",
    ]
    assert debug_line(ARTIFACT) == "intermediate programs: out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.debug"


def test_what_to_write_instead_is_said_with_the_reason() -> None:
    left = (LeftOperator("aten.gelu.default", 2, "GELU does not support fp16"),)
    delegation = replace(ARTIFACT.meta.delegation, left=left)
    lines = list(reason_lines(replace(ARTIFACT, meta=replace(ARTIFACT.meta, delegation=delegation))))
    assert lines[1].startswith("  Change: Spell out the tanh form")
    assert "write `0.5 * x * (1.0 + torch.tanh(" in lines[2]
    portable = replace(ARTIFACT.meta, delegation=delegation, backend="portable")
    assert list(reason_lines(replace(ARTIFACT, meta=portable))) == []


@pytest.mark.parametrize(
    ("shape", "change"), [((), "A whole number in the code"), ((32, 1024), "XNNPACK computes in fp32 and fp16.")]
)
def test_what_to_write_depends_on_the_node_where_that_is_known(shape: tuple[int, ...], change: str) -> None:
    left = (LeftOperator("dim_order_ops._to_dim_order_copy.default", 1, "invalid dtype"),)
    delegation = replace(ARTIFACT.meta.delegation, left=left)
    artifact = replace(ARTIFACT, meta=replace(ARTIFACT.meta, delegation=delegation))
    node = a_node(0, "dim_order_ops::_to_dim_order_copy.out", inputs=(TensorSpec(shape, "bool"),))
    assert list(reason_lines(artifact, [node]))[1].startswith(f"  Change: {change}")


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_matrix_fits_and_names_every_cell(width: int) -> None:
    lines = render_table(matrix_table(REQUESTS, RESULTS), width).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith("toy_cnn") and "exported" in line for line in lines)
    assert any(line.startswith("a_model_of_a_longer_name") and "failed" in line for line in lines)


def test_paths_and_reasons_are_whole() -> None:
    precision = f"{REQUESTS[1].precision} {Quantization().label}"
    assert list(matrix_lines(REQUESTS, RESULTS)) == [
        str(ARTIFACT.pte),
        "  not delegated: 3 aten.gelu.default",
        f"a_model_of_a_longer_name, {precision}: {RESULTS[1]}",
    ]


def test_a_cell_is_told_in_a_line_when_it_ends() -> None:
    assert [describe_cell(result) for result in RESULTS] == [
        "exported, 1 B, 107.2 dB (floor 50 dB)",
        f"failed: {RESULTS[1]}",
    ]
