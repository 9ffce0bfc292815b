"""Ranks the operators of a model by the time they take per inference, each kept apart from its namesakes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from etprof.analysis.operators.accounting import build_accounting
from etprof.core.categories import RULES, Rule, categorize
from etprof.core.data_types import find_data_type
from etprof.core.inferences import Inferences, split_inferences
from etprof.core.operators import PORTABLE, OperatorSamples
from etprof.core.rows import OperatorRow
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_MS

SAMPLES_KEPT = 50


@dataclass(frozen=True)
class OperatorDetail:
    """An operator's row with the rest of its distribution; `metadata` is the delegate's own text on it."""

    row: OperatorRow
    data_type: str
    total_ms: float
    min_ms: float
    max_ms: float
    std_ms: float
    p95_ms: float
    cold_ms: float | None
    metadata: str = ""


def collect_operators(traces: Sequence[Trace]) -> tuple[OperatorSamples, ...]:
    """One table per kind of inference. Traces of several processes share a table where they ran the same operators."""
    parts: dict[int | None, list[Inferences]] = {}
    for part in (part for parts_of_trace in split_inferences(traces) for part in parts_of_trace):
        parts.setdefault(part.kind, []).append(part)
    return tuple(
        OperatorSamples(
            identities=same[0].identities,
            names=same[0].names,
            calls=same[0].calls,
            steady_ns=np.vstack([part.duration_ns[part.trace.is_steady[part.runs]] for part in same]),
            cold_ns=np.vstack([part.duration_ns[~part.trace.is_steady[part.runs]] for part in same]),
            metadata=_list_metadata(same[0]),
            phase=same[0].phase,
        )
        for same in parts.values()
    )


def _list_metadata(part: Inferences) -> tuple[str, ...]:
    recorded = part.trace.metadata
    return tuple(recorded.of(row) for row in part.rows.tolist()) if len(recorded.row) else ()


def build_operators(traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[OperatorRow, ...]:
    """The operators with the longest total time first. Shares are of the end-to-end time of the steady inferences."""
    return tuple(detail.row for detail in build_operator_details(traces, rules))


def build_operator_details(traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[OperatorDetail, ...]:
    return describe_operators(collect_operators(traces), build_accounting(traces).end_to_end_ns, rules)


def describe_operators(
    tables: Sequence[OperatorSamples], whole_ns: int, rules: Sequence[Rule] = RULES
) -> tuple[OperatorDetail, ...]:
    """`whole_ns` is the end-to-end time of the steady inferences, of which each operator has its share."""
    details = [detail for samples in tables for detail in _summarize(samples, whole_ns, rules)]
    return tuple(sorted(details, key=lambda detail: (-detail.row.share, detail.row.identity.order)))


def find_unmatched_names(traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[str, ...]:
    """Operator names that no rule of the table matches, so that nothing hides in Other."""
    names = {name for trace in traces for name in trace.names_of(trace.is_operator)}
    return tuple(sorted(name for name in names if not categorize(name, rules).matched))


def _summarize(samples: OperatorSamples, whole_ns: int, rules: Sequence[Rule]) -> Iterator[OperatorDetail]:
    # A row per operator, sorted: numpy sorts along memory several times faster than np.median selects.
    ranked = np.sort(np.ascontiguousarray(samples.steady_ns.T), axis=1)
    runs = ranked.shape[1]
    total_ns = ranked.sum(axis=1)
    median_ms = (ranked[:, (runs - 1) // 2] + ranked[:, runs // 2]) / 2 / NS_PER_MS
    std_ms = ranked.std(axis=1) / NS_PER_MS
    p95_ms = ranked[:, -(-95 * runs // 100) - 1] / NS_PER_MS
    most = min(runs, SAMPLES_KEPT)
    kept = np.arange(most) * (runs - 1) // max(most - 1, 1)
    cold_ms = samples.cold_ns.mean(axis=0) / NS_PER_MS if len(samples.cold_ns) else None
    for i, name in enumerate(samples.names):
        category = categorize(name, rules)
        row = OperatorRow(
            identity=samples.identities[i],
            name=name,
            category=category.name,
            subcategory=category.subcategory,
            delegated=samples.identities[i].group != PORTABLE,
            count=runs,
            mean_ms=int(total_ns[i]) / runs / NS_PER_MS,
            median_ms=float(median_ms[i]),
            share=int(total_ns[i]) / whole_ns if whole_ns else 0.0,
            samples_ms=tuple((samples.steady_ns[kept, i] / NS_PER_MS).tolist()),
        )
        yield OperatorDetail(
            row=row,
            data_type=find_data_type(name),
            total_ms=int(total_ns[i]) / NS_PER_MS,
            min_ms=int(ranked[i, 0]) / NS_PER_MS,
            max_ms=int(ranked[i, -1]) / NS_PER_MS,
            std_ms=float(std_ms[i]),
            p95_ms=float(p95_ms[i]),
            cold_ms=float(cold_ms[i]) if cold_ms is not None else None,
            metadata=samples.metadata[i] if samples.metadata else "",
        )
