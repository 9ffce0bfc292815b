"""From the traces of a calibration's program to the times of its operators, on each level of the CPU."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import stdev

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.graph.work import build_work
from etprof.analysis.kernels.cases import find_case
from etprof.analysis.operator_costs import group_node, measure_extent
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.analysis.timing.student import student_quantile
from etprof.core.device_profile import Extent, ProbedOperator
from etprof.core.estimates import Interval
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.operators import DELEGATED
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_US

# XNNPACK counts whole microseconds: what takes less has no ratio.
_SHORTEST_US = 0.5
_CONFIDENCE = 0.95
# The partition of a node, None outside of all of them, and its number there.
_Place = tuple[int | None, int]


def build_probes(program: str, graph: ModelGraph, traces: Mapping[str, Sequence[Trace]]) -> tuple[ProbedOperator, ...]:
    """The nodes that are certain, with a time on every level; `traces` are those of its blocks, by level."""
    times = {level: _time_nodes(blocks, graph) for level, blocks in traces.items()}
    found = []
    for place, node, name in _list_named(program, graph):
        blocks = {level: known.get(place, ()) for level, known in times.items()}
        extent = measure_extent(build_work(node))
        if extent and all(us and min(us) >= _SHORTEST_US for us in blocks.values()):
            intervals = {level: _estimate(us) for level, us in blocks.items()}
            found.append(_describe(name, node, extent, intervals, is_delegated=place[0] is not None))
    return tuple(found)


def _list_named(program: str, graph: ModelGraph) -> Iterator[tuple[_Place, GraphNode, str]]:
    """Each node with the name that it has in every program of the set: its module, its type, and a count."""
    placed = [(number, node) for number, nodes in enumerate(graph.partitions) for node in nodes]
    seen: Counter[str] = Counter()
    for partition, node in (*placed, *((None, node) for node in graph.undelegated)):
        name = f"{program}/{node.module_path}/{node.type}"
        seen[name] += 1
        yield (partition, node.index), node, f"{name}.{seen[name]}"


def _time_nodes(traces: Sequence[Trace], graph: ModelGraph) -> dict[_Place, list[float]]:
    """In microseconds, one for each trace; packing and clamping are their node's."""
    found: dict[_Place, list[float]] = {}
    for trace in traces:
        tables = collect_operators([trace])
        nodes = list_mapped(align_operators(tables, graph))
        sums: dict[_Place, float] = {}
        for table in tables:
            for identity, time_ns in zip(table.identities, _average_calm(table.steady_ns), strict=True):
                if node := nodes.get(identity):
                    place = (identity.call if identity.group == DELEGATED else None, node.index)
                    sums[place] = sums.get(place, 0.0) + time_ns / NS_PER_US
        for place, time_us in sums.items():
            found.setdefault(place, []).append(time_us)
    return found


def _average_calm(times_ns: NDArray[np.int64]) -> list[float]:
    """The mean of the fastest quarter of the inferences: others can only make one slower, as they can whole blocks.

    It is finer than whole microseconds, which is what XNNPACK counts.
    """
    calm = np.sort(times_ns, axis=0)[: (len(times_ns) + 3) // 4]
    return [float(value) for value in calm.mean(axis=0)]


def _estimate(blocks_us: Sequence[float]) -> Interval:
    """The fastest of the blocks; the interval tells how they differ."""
    value, count = min(blocks_us), len(blocks_us)
    if count < 2:
        return Interval(value, value, value, _CONFIDENCE)
    half = student_quantile((1 + _CONFIDENCE) / 2, count - 1) * stdev(blocks_us) / count**0.5
    return Interval(value, max(value - half, value / 10), value + half, _CONFIDENCE)


def _describe(
    name: str, node: GraphNode, extent: Extent, times_us: Mapping[str, Interval], *, is_delegated: bool
) -> ProbedOperator:
    work = build_work(node)
    return ProbedOperator(
        probe=name,
        case=find_case(node),
        group=group_node(node, work.kind, is_delegated=is_delegated),
        is_delegated=is_delegated,
        extent=extent,
        macs=work.macs or 0,
        minimal_bytes=work.minimal_bytes or 0,
        times_us=times_us,
    )
