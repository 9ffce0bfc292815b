"""The operators of a variant as a forecast needs them: their time, their size, and what decides on their kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from etprof.analysis.graph.work import build_work
from etprof.analysis.kernels.cases import find_case, is_compute
from etprof.core.categories import COMPUTE, DATA_MOVEMENT, ELEMENTWISE
from etprof.core.device_profile import MOVEMENT, Extent
from etprof.core.graph import GraphNode
from etprof.core.operators import OperatorId
from etprof.core.predictions import KernelCase
from etprof.core.rows import OperatorRow
from etprof.core.work import Work

# Groups that are wider than a case; what belongs to none of them is grouped by its subcategory, such as pooling.
MULTIPLYING, PORTABLE = "compute", "portable"
_GROUPS = {**dict.fromkeys(COMPUTE, MULTIPLYING), DATA_MOVEMENT: MOVEMENT, ELEMENTWISE: "elementwise"}
_MOVING = frozenset({"concat", "copy", "pad", "quantise or convert", "reshape", "slice", "transpose"})


@dataclass(frozen=True)
class OperatorCost:
    """A graph node, with the time of all of its events, such as packing; or an event whose node is not certain.

    `case` and `extent` are None where the node is not known. `time_ms` is per inference.
    """

    identity: OperatorId
    name: str
    kind: str
    category: str
    module_path: str
    group: str
    is_delegated: bool
    time_ms: float
    node: GraphNode | None = None
    case: KernelCase | None = None
    extent: Extent | None = None
    macs: int = 0
    minimal_bytes: int = 0


def list_costs(
    rows: Sequence[OperatorRow], nodes: Mapping[OperatorId, GraphNode], runs: int
) -> tuple[OperatorCost, ...]:
    """In the order of execution; `runs` is the number of traced inferences, of which some may skip an operator."""
    found: dict[tuple[object, ...], OperatorCost] = {}
    for row in sorted(rows, key=lambda row: row.identity.order):
        node = nodes.get(row.identity)
        # A disturbance makes single inferences slower, not the machine.
        time_ms = row.median_ms * (row.count / runs if runs else 1.0)
        place = (*row.identity.of_call, node.index) if node else (row.identity,)
        cost = _describe(row, node, time_ms)
        earlier = found.get(place)
        if earlier is None:
            found[place] = cost
        else:
            # What packs or clamps for a node is known by its node's name, not by its own.
            main = cost if row.work else earlier
            found[place] = replace(main, time_ms=earlier.time_ms + time_ms)
    return tuple(found.values())


def _describe(row: OperatorRow, node: GraphNode | None, time_ms: float) -> OperatorCost:
    cost = OperatorCost(
        identity=row.identity,
        name=row.name,
        kind=row.kind,
        category=row.category,
        module_path=row.module_path,
        group=_GROUPS.get(row.category, row.subcategory) if row.delegated else PORTABLE,
        is_delegated=row.delegated,
        time_ms=time_ms,
    )
    if node is None:
        return cost
    work = build_work(node)
    return replace(
        cost,
        group=group_node(node, work.kind, is_delegated=row.delegated),
        node=node,
        case=find_case(node),
        extent=measure_extent(work),
        macs=work.macs or 0,
        minimal_bytes=work.minimal_bytes or 0,
    )


def group_node(node: GraphNode, kind: str, *, is_delegated: bool) -> str:
    """The same group as that of its event, which a probe on another CPU may have another name for."""
    if not is_delegated:
        return PORTABLE
    return MULTIPLYING if is_compute(node) else MOVEMENT if kind in _MOVING else kind


def measure_extent(work: Work) -> Extent | None:
    """None for an operator without an output of known shape."""
    elements = prod(work.output_shape)
    if not work.output_shape or not elements:
        return None
    columns = work.output_shape[-1]
    return Extent(elements // columns, max(round((work.macs or 0) / elements), 1), columns)
