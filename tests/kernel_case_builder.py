"""Rows of a table of kernels, and graph nodes by their shapes and types, for tests of predictions."""

from etprof.core.graph import GraphNode, TensorSpec
from etprof.core.predictions import CpuLevel, KernelCase, KernelRow, KernelTable

I8MM_LEVELS = {CpuLevel.SME2: "SME2", CpuLevel.I8MM: "I8MM", CpuLevel.DOT_PRODUCT: "DotProd"}


def a_row(case: KernelCase, sme2: str, others: str = "NEON") -> KernelRow:
    families = {level: sme2 if level is CpuLevel.SME2 else others for level in CpuLevel}
    return KernelRow(case, families, {})


def a_table_of(*rows: KernelRow, executorch: str = "1.5.1") -> KernelTable:
    return KernelTable(executorch, "c0ffee", "00" * 32, rows)


def a_layer(
    type: str,
    data: tuple[int, ...],
    weights: tuple[int, ...],
    output: tuple[int, ...],
    types: tuple[str, str, str] = ("fp32", "fp32", "fp32"),
    *,
    constant: bool = True,
    index: int = 0,
) -> GraphNode:
    """`types` are those of the inputs, the weights and the outputs."""
    return GraphNode(
        index=index,
        type=type,
        inputs=(TensorSpec(data, types[0]), TensorSpec(weights, types[1], constant=constant)),
        outputs=(TensorSpec(output, types[2]),),
    )
