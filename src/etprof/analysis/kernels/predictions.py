"""Predicts the kernel family of every node of a graph from the probed table."""

from collections.abc import Mapping

from etprof.analysis.kernels.cases import describe_case, find_case, is_compute
from etprof.analysis.kernels.obstacles import find_obstacle
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.predictions import (
    PROBE_COMMAND,
    SME2,
    CpuLevel,
    KernelCase,
    KernelRow,
    KernelTable,
    NodePrediction,
    Obstacle,
)

_UNKNOWN: Mapping[CpuLevel, str | None] = dict.fromkeys(CpuLevel)


def predict_kernels(graph: ModelGraph, table: KernelTable | None) -> tuple[NodePrediction, ...]:
    """Nodes of the partitions in order, then the operators outside of them; without a table all are unknown."""
    rows = {row.case: row for row in table.rows} if table else {}
    placed = [(number, node) for number, nodes in enumerate(graph.partitions) for node in nodes]
    placed_outside = [(None, node) for node in graph.undelegated]
    return tuple(_predict(partition, node, table, rows) for partition, node in (*placed, *placed_outside))


def _predict(
    partition: int | None, node: GraphNode, table: KernelTable | None, rows: Mapping[KernelCase, KernelRow]
) -> NodePrediction:
    case = find_case(node)
    row = rows.get(case)
    computes = is_compute(node)
    families = {level: row.families.get(level) for level in CpuLevel} if row else _UNKNOWN
    obstacle, why, change = _explain(partition, case, table, row) if computes else _explain_other(case)
    return NodePrediction(
        partition=partition,
        node=node,
        is_compute=computes,
        families=families,
        obstacle=obstacle,
        why=why,
        change=change,
    )


def _explain(
    partition: int | None, case: KernelCase, table: KernelTable | None, row: KernelRow | None
) -> tuple[Obstacle | None, str, str]:
    if partition is None:
        return Obstacle.NOT_DELEGATED, f"{case.operator} runs outside of XNNPACK, which has no SME2 kernels.", ""
    if table is None:
        return None, "No table of kernels is stored for this version of ExecuTorch.", f"Probe it: {PROBE_COMMAND}"
    if row is None:
        why = f"The table of executorch {table.executorch} has no row for {describe_case(case)}."
        return None, why, f"Add a probe of it, then: {PROBE_COMMAND}"
    if row.families.get(CpuLevel.SME2) == SME2:
        return None, "", ""
    found = find_obstacle(case, table)
    return found.obstacle, found.why, found.change


def _explain_other(case: KernelCase) -> tuple[Obstacle, str, str]:
    name = case.operator.removeprefix("XNN")
    return Obstacle.NO_MATRIX_WORK, f"{name} multiplies no matrices, so there is no matrix kernel for it.", ""
