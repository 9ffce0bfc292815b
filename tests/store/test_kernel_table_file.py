"""The probed tables of kernels: stored with the package, found by the version of ExecuTorch."""

import json
from pathlib import Path
from typing import Any

import pytest

from etprof.analysis.kernels.predictions import predict_kernels
from etprof.core.errors import StoreError
from etprof.core.graph import GraphNode
from etprof.core.predictions import CpuLevel, KernelCase, Obstacle
from etprof.store.kernel_table_file import kernel_table_name, load_kernel_table, parse_kernel_table, save_kernel_table
from graph_builder import a_graph
from kernel_case_builder import a_layer, a_row, a_table_of

IMAGE = (1, 12, 12, 32)
HALF, INT8, PER_TENSOR = ("fp16", "fp32", "fp16"), ("qint8", "qcint8", "qint8"), ("qint8", "qint8", "qint8")
FOUR_BIT = ("qdint8", "qbint4", "fp32")
CASE = KernelCase("fully connected", "qdint8", "fp32", "qcint8", True, "many rows")


def test_the_tested_version_has_a_table_with_every_level() -> None:
    table = load_kernel_table("1.5.1")
    assert table is not None
    assert (table.executorch, len(table.library_sha256)) == ("1.5.1", 64)
    assert len({row.case for row in table.rows}) == len(table.rows) > 50
    assert all(set(row.families) == set(CpuLevel) for row in table.rows)


@pytest.mark.parametrize(
    ("node", "family", "obstacle"),
    [
        (a_layer("XNNConv2d", IMAGE, (48, 3, 3, 32), (1, 12, 12, 48)), "SME2", None),
        (a_layer("XNNConv2d", IMAGE, (48, 3, 3, 8), (1, 12, 12, 48)), "SME2", None),
        (a_layer("XNNDepthwiseConv2d", IMAGE, (1, 7, 7, 32), IMAGE, INT8), "I8MM", Obstacle.DEPTHWISE),
        (a_layer("XNNDepthwiseConv2d", IMAGE, (1, 3, 3, 32), IMAGE), "NEON", Obstacle.DEPTHWISE),
        (a_layer("XNNConv2d", IMAGE, (48, 1, 1, 32), (1, 12, 12, 48), HALF), "FP16", Obstacle.WEIGHT_TYPE),
        (a_layer("XNNConvTranspose2d", IMAGE, (24, 2, 2, 32), (1, 24, 24, 24)), "NEON", Obstacle.TRANSPOSED),
        (a_layer("XNNFullyConnected", (64, 32), (48, 32), (64, 48), PER_TENSOR), "I8MM", Obstacle.PER_TENSOR),
        (a_layer("XNNFullyConnected", (64, 32), (48, 32), (64, 48), FOUR_BIT), "I8MM", Obstacle.GROUP_WISE),
        (a_layer("XNNFullyConnected", (1, 32), (48, 32), (1, 48)), "SME2", None),
    ],
)
def test_what_was_probed_is_predicted(node: GraphNode, family: str, obstacle: Obstacle | None) -> None:
    (found,) = predict_kernels(a_graph((node,)), load_kernel_table("1.5.1"))
    assert (found.families[CpuLevel.SME2], found.obstacle) == (family, obstacle)
    assert bool(found.why) is bool(obstacle)


def test_what_a_build_is_for_does_not_matter() -> None:
    assert load_kernel_table("1.5.1+cpu") == load_kernel_table("1.5.1")


def test_a_version_that_was_not_probed_has_none() -> None:
    assert load_kernel_table("9.9.9") is None


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = a_table_of(a_row(CASE, "SME2", "I8MM"))
    path = tmp_path / kernel_table_name("1.5.1")
    save_kernel_table(path, table)
    assert parse_kernel_table(json.loads(path.read_text()), path.name) == table


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"schema_version": 99},
        {"schema_version": 1},
        {"schema_version": 1, "executorch": "1", "executorch_commit": "", "library_sha256": "", "rows": [{}]},
        {"schema_version": 1, "executorch": "1", "executorch_commit": "", "library_sha256": "", "rows": 3},
    ],
)
def test_another_file_is_refused(content: Any) -> None:
    with pytest.raises(StoreError, match=r"table\.json is not a table of kernels") as raised:
        parse_kernel_table(content, "table.json")
    assert "scripts/probe_kernels.py" in raised.value.hint
