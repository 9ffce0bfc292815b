"""Nodes of a graph."""

import pytest

from etprof.core.graph import GraphNode


@pytest.mark.parametrize(
    ("low", "high", "is_clamped"), [(None, None, False), (0.0, None, True), (None, 6.0, True), (0.0, 6.0, True)]
)
def test_a_node_is_clamped_by_either_limit(low: float | None, high: float | None, is_clamped: bool) -> None:
    assert GraphNode(index=0, type="XNNAdd", output_min=low, output_max=high).is_clamped is is_clamped
