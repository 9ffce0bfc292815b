"""The traced time of a workload by phase, per step, and put together again, per sequence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from etprof.analysis.graph.work import add_work
from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.operator_statistics import OperatorDetail, describe_operators
from etprof.core.graph import GraphNode
from etprof.core.operators import OperatorId, OperatorSamples
from etprof.core.rows import Accounting, CategoryRow, OperatorRow
from etprof.core.sequences import number_phases
from etprof.core.trace import Trace
from etprof.core.workload import Workload

_PARTS = ("delegated_ns", "portable_ns", "delegate_overhead_ns", "framework_overhead_ns", "undivided_ns")


@dataclass(frozen=True, eq=False)
class PhaseWork:
    """Where the traced time of one phase goes, per step.

    `steps` is how many it has in a sequence, `traced` how many of them a traced sequence runs.
    """

    steps: int
    traced: int
    accounting: Accounting
    categories: tuple[CategoryRow, ...]
    details: tuple[OperatorDetail, ...]

    @property
    def sequences(self) -> int:
        return self.accounting.runs // self.traced


@dataclass(frozen=True, eq=False)
class SequenceWork:
    """Where the traced time of a sequence goes: that of its phases, each as often as its steps are run."""

    accounting: Accounting
    categories: tuple[CategoryRow, ...]
    operators: tuple[OperatorRow, ...]


def divide_by_phase(
    traces: Sequence[Trace],
    tables: Sequence[OperatorSamples],
    workload: Workload | None,
    nodes: Mapping[OperatorId, GraphNode],
    method: str,
) -> tuple[PhaseWork, ...]:
    """The phases in their order; empty without a workload, or where a trace does not hold whole sequences of it.

    `tables` are the operators of the traces, `nodes` those of the graph of one `method`.
    """
    if workload is None or not traces or any(trace.phase is None for trace in traces):
        return ()
    traced = [int((number_phases(workload) == number).sum()) for number in range(len(workload.phases))]
    works = []
    for number, phase in enumerate(workload.phases):
        own = [table for table in tables if table.phase == number]
        accounting = build_accounting(traces, phase=number)
        works.append(
            PhaseWork(
                steps=phase.repeats,
                traced=traced[number],
                accounting=accounting,
                categories=build_categories(own, accounting),
                details=tuple(
                    replace(detail, row=_place(detail.row, nodes if phase.method == method else {}))
                    for detail in describe_operators(own, accounting.end_to_end_ns)
                ),
            )
        )
    return tuple(works)


def _place(row: OperatorRow, nodes: Mapping[OperatorId, GraphNode]) -> OperatorRow:
    """With its module and kind of layer. Where shapes are open, each phase does other work than the graph says."""
    return replace(add_work(row, nodes.get(row.identity)), work=None, gmac_per_s=None)


def join_phases(works: Sequence[PhaseWork], setup_ns: int) -> SequenceWork:
    """Steps that were not traced count as those of their phase that were."""
    ratios = [work.steps / work.traced for work in works]
    parts = {
        part: round(sum(getattr(work.accounting, part) * ratio for work, ratio in zip(works, ratios, strict=True)))
        for part in _PARTS
    }
    accounting = Accounting(runs=works[0].sequences, end_to_end_ns=sum(parts.values()), setup_ns=setup_ns, **parts)
    categories = _join_categories(works, accounting)
    whole_ms = sum(row.mean_ms for row in categories)
    operators = [
        _per_sequence(detail, ratio / work.sequences, whole_ms)
        for work, ratio in zip(works, ratios, strict=True)
        for detail in work.details
    ]
    ranked = sorted(operators, key=lambda row: (-row.share, row.identity.order))
    return SequenceWork(accounting, categories, tuple(ranked))


def _join_categories(works: Sequence[PhaseWork], accounting: Accounting) -> tuple[CategoryRow, ...]:
    by_name = [{row.name: row for row in work.categories} for work in works]
    # Overheads come last, behind what only some phases have.
    names = sorted(
        dict.fromkeys(row.name for work in works for row in work.categories),
        key=lambda name: max(list(rows).index(name) - len(rows) for rows in by_name if name in rows),
    )
    whole_ms = accounting.per_run_ms(accounting.end_to_end_ns)
    joined = []
    for name in names:
        own = [(rows[name], work) for rows, work in zip(by_name, works, strict=True) if name in rows]
        mean_ms = sum(row.mean_ms * work.steps for row, work in own)
        joined.append(
            CategoryRow(
                name=name,
                total_ns=round(sum(row.total_ns * work.steps / work.traced for row, work in own)),
                mean_ms=mean_ms,
                share=mean_ms / whole_ms if whole_ms else 0.0,
                events_per_run=sum(row.events_per_run * work.steps for row, work in own),
            )
        )
    return tuple(joined)


def _per_sequence(detail: OperatorDetail, factor: float, whole_ms: float) -> OperatorRow:
    """An operator with all of its steps in a sequence; `factor` makes that of the time it took in all traced ones."""
    mean_ms = detail.total_ms * factor
    scale = mean_ms / detail.row.mean_ms if detail.row.mean_ms else 0.0
    return replace(
        detail.row,
        mean_ms=mean_ms,
        median_ms=detail.row.median_ms * scale,
        share=mean_ms / whole_ms if whole_ms else 0.0,
        samples_ms=tuple(sample * scale for sample in detail.row.samples_ms),
    )
