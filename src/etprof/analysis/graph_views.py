"""Lays what a run measured over the graphs of its models: time, share, speed-up and kernels of every node."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.graph.view_nodes import Located, build_view_nodes, locate_operators
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.core.graph import GraphNode
from etprof.core.graph_view import MODULES, PROGRAM, GraphView, Overlay, Quantity
from etprof.core.inferences import Inferences, split_inferences
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.operators import DELEGATED, PORTABLE, OperatorId
from etprof.core.plan import Variant
from etprof.core.program import DEFAULT_METHOD
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.trace import EventKind
from etprof.core.units import NS_PER_MS

Nodes = Mapping[OperatorId, GraphNode]
# A graph, and a node in it.
Place = tuple[str, str]


@dataclass(frozen=True)
class _Measured:
    """One kind of inference of one variant: what was measured at each node of each graph."""

    variant: Variant
    kind: int | None
    located: Located
    time_ms: dict[Place, float] = field(default_factory=lambda: defaultdict(float))
    percent: dict[Place, float] = field(default_factory=lambda: defaultdict(float))
    samples: dict[Place, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @property
    def title(self) -> str:
        return self.variant.label if self.kind is None else f"{self.variant.label}, inferences of kind {self.kind}"

    @property
    def suffix(self) -> str:
        return "" if self.kind is None else f"_s{self.kind}"


def build_views(run: LoadedRun, report: Report, nodes: Mapping[Variant, Nodes]) -> tuple[GraphView, ...]:
    """A view of each method of each model that ran; none where neither its graph nor an operator of it is known."""
    groups: dict[tuple[str, str], list[LoadedVariant]] = defaultdict(list)
    # Without times there is nothing that sampling could have disturbed.
    for variant in report.measured if report.times_are_real else report.variants:
        loaded = run.of(variant.variant)
        groups[loaded.model.name, loaded.method or DEFAULT_METHOD].append(loaded)
    views = [_build_view(*key, variants, report, nodes) for key, variants in groups.items()]
    return tuple(view for view in views if view.nodes)


def _build_view(
    model: str, method: str, variants: Sequence[LoadedVariant], report: Report, nodes: Mapping[Variant, Nodes]
) -> GraphView:
    measured = [
        each
        for loaded in variants
        for each in _measure(loaded, report.of(loaded.variant), nodes.get(loaded.variant) or _map_operators(loaded))
    ]
    graph = next((loaded.graph for loaded in variants if loaded.graph), None)
    overlays = [overlay for each in measured for overlay in _list_overlays(each)]
    overlays += [speedup for comparison in report.comparisons for speedup in _list_speedups(comparison, measured)]
    return GraphView(model, method, build_view_nodes(graph, [each.located for each in measured]), tuple(overlays))


def _map_operators(loaded: LoadedVariant) -> Nodes:
    """For a variant whose times mean nothing, so that nothing of it was mapped before."""
    if loaded.graph is None or not loaded.traces:
        return {}
    return list_mapped(align_operators(collect_operators(loaded.traces), loaded.graph))


def _measure(loaded: LoadedVariant, report: VariantReport, nodes: Nodes) -> Iterator[_Measured]:
    kinds: dict[int | None, list[Inferences]] = defaultdict(list)
    for part in (part for parts in split_inferences(loaded.traces) for part in parts):
        kinds[part.kind].append(part)
    for kind, parts in kinds.items():
        first = parts[0]
        located = locate_operators(dict(zip(first.identities, first.names, strict=True)), nodes)
        instructions = dict(zip(first.identities, first.trace.instruction[first.rows].tolist(), strict=True))
        places = {each: list(_list_places(each, located, instructions[each], nodes)) for each in first.identities}
        made = _Measured(loaded.variant, kind, located)
        _add_times(made, report, places)
        _add_samples(made, report, places, instructions)
        if report.accounting:
            _add_calls(made, parts, report.accounting.end_to_end_ns)
        yield made


def _list_places(identity: OperatorId, located: Located, instruction: int, nodes: Nodes) -> Iterator[Place]:
    """The nodes that stand for an operator: one of the exported graph, and one of the program's or the delegate's."""
    yield MODULES, located.ids[identity]
    if instruction >= 0 and identity.group == PORTABLE:
        yield PROGRAM, str(instruction)
    elif instruction >= 0 and identity.group == DELEGATED and identity in nodes:
        yield str(instruction), str(nodes[identity].index)


def _add_times(made: _Measured, report: VariantReport, places: Mapping[OperatorId, Sequence[Place]]) -> None:
    for row in report.operators:
        for place in places.get(row.identity, ()):
            made.time_ms[place] += row.mean_ms
            made.percent[place] += 100 * row.share


def _add_samples(
    made: _Measured,
    report: VariantReport,
    places: Mapping[OperatorId, Sequence[Place]],
    instructions: Mapping[OperatorId, int],
) -> None:
    """Of an emulated run, only the evidence has operators."""
    rows = report.operators or (report.evidence.operators if report.evidence else ())
    for row in rows:
        # A delegate call executes what its operators do.
        calls = [(PROGRAM, str(instructions[row.identity]))] if instructions.get(row.identity, -1) >= 0 else []
        for place in dict.fromkeys([*places.get(row.identity, ()), *calls]):
            for kernel in row.kernels:
                made.samples[place][kernel.instruction_class] += kernel.samples


def _add_calls(made: _Measured, parts: Sequence[Inferences], whole_ns: int) -> None:
    """The time of delegate calls as a whole, what no operator owns included."""
    total_ns: Counter[int] = Counter()
    runs = 0
    for part in parts:
        trace = part.trace
        chosen = np.zeros(trace.run_count, np.bool_)
        chosen[part.runs] = trace.is_steady[part.runs]
        runs += int(chosen.sum())
        rows = np.flatnonzero((trace.kind == EventKind.DELEGATE_CALL) & trace.rows_of(chosen))
        for instruction, ns in zip(trace.instruction[rows].tolist(), trace.duration_ns[rows].tolist(), strict=True):
            total_ns[instruction] += ns
    for instruction, ns in total_ns.items():
        if instruction >= 0 and runs and whole_ns:
            made.time_ms[PROGRAM, str(instruction)] += ns / runs / NS_PER_MS
            made.percent[PROGRAM, str(instruction)] += 100 * ns / whole_ns


def _list_overlays(each: _Measured) -> Iterator[Overlay]:
    values: dict[Quantity, Mapping[Place, float | str]] = {
        Quantity.TIME: each.time_ms,
        Quantity.SHARE: each.percent,
        Quantity.KERNELS: {
            place: max(counts, key=lambda name: (counts[name], name)) for place, counts in each.samples.items()
        },
    }
    for quantity, found in values.items():
        if found:
            yield Overlay(quantity, each.title, f"{each.variant.stem}{each.suffix}", _nest(found))


def _list_speedups(comparison: Comparison, measured: Sequence[_Measured]) -> Iterator[Overlay]:
    """Baseline time / candidate time of the nodes that both have; kinds of inferences are the same by their number."""
    before = {each.kind: each.time_ms for each in measured if each.variant == comparison.baseline}
    for after in (each for each in measured if each.variant == comparison.candidate):
        was_ms = before.get(after.kind, {})
        ratios = {place: was_ms[place] / ms for place, ms in after.time_ms.items() if ms and was_ms.get(place)}
        stem = f"{comparison.candidate.stem}_against_{comparison.baseline.stem}{after.suffix}"
        if ratios:
            yield Overlay(Quantity.SPEEDUP, comparison.title, stem, _nest(ratios))


def _nest(values: Mapping[Place, float | str]) -> dict[str, dict[str, float | str]]:
    graphs: dict[str, dict[str, float | str]] = {}
    for (graph, node), value in values.items():
        graphs.setdefault(graph, {})[node] = value
    return graphs
