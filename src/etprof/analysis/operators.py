"""Ranks the operators of a model by the time they take per inference, each kept apart from its namesakes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.accounting import build_accounting
from etprof.analysis.categories import RULES, Rule, categorize
from etprof.analysis.data_types import find_data_type
from etprof.analysis.steady_runs import find_steady
from etprof.core.report import OperatorRow
from etprof.core.trace import EventKind, Trace
from etprof.core.units import NS_PER_MS

SAMPLES_KEPT = 50


@dataclass(frozen=True)
class OperatorSamples:
    """The operators of one signature in order of execution, with one row of durations per inference.

    `calls` counts the delegate calls of an inference, those without operators included.
    """

    identities: tuple[str, ...]
    names: tuple[str, ...]
    delegated: tuple[bool, ...]
    calls: int
    steady_ns: NDArray[np.int64]
    cold_ns: NDArray[np.int64]


@dataclass(frozen=True)
class OperatorDetail:
    """An operator's row with the rest of its distribution."""

    row: OperatorRow
    data_type: str
    total_ms: float
    min_ms: float
    max_ms: float
    std_ms: float
    p95_ms: float
    cold_ms: float | None


def collect_operators(traces: Sequence[Trace]) -> tuple[OperatorSamples, ...]:
    """One table per signature. Traces of several processes share a table where they recorded the same operators."""
    parts: dict[tuple[tuple[str, ...], tuple[str, ...], int], list[tuple[NDArray[np.int64], NDArray[np.bool_]]]] = {}
    for trace in traces:
        steady = find_steady(trace)
        in_run = trace.run[(trace.kind == EventKind.DELEGATE_CALL) & (trace.run >= 0)]
        calls = np.bincount(in_run, minlength=trace.run_count)
        for first, duration_ns, runs in _split_by_signature(trace):
            identities = tuple(trace.identity(row) for row in first)
            key = (identities, tuple(trace.names[n] for n in trace.name[first]), int(calls[runs[0]]))
            parts.setdefault(key, []).append((duration_ns, steady[runs]))
    several = len(parts) > 1
    return tuple(
        OperatorSamples(
            identities=tuple(f"s{number}.{i}" if several else i for i in identities),
            names=names,
            delegated=tuple(not i.startswith("p") for i in identities),
            calls=calls_each,
            steady_ns=np.vstack([duration_ns[steady] for duration_ns, steady in tables]),
            cold_ns=np.vstack([duration_ns[~steady] for duration_ns, steady in tables]),
        )
        for number, ((identities, names, calls_each), tables) in enumerate(parts.items())
    )


def build_operators(traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[OperatorRow, ...]:
    """The operators with the longest total time first. Shares are of the end-to-end time of the steady inferences."""
    return tuple(detail.row for detail in build_operator_details(traces, rules))


def build_operator_details(traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[OperatorDetail, ...]:
    whole_ns = build_accounting(traces).end_to_end_ns
    details = [detail for samples in collect_operators(traces) for detail in _summarize(samples, whole_ns, rules)]
    return tuple(sorted(details, key=lambda detail: (-detail.row.share, detail.row.identity)))


def find_unmatched_names(traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[str, ...]:
    """Operator names that no rule of the table matches, so that nothing hides in Other."""
    names = {name for trace in traces for name in trace.names_of(trace.is_operator)}
    return tuple(sorted(name for name in names if not categorize(name, rules).matched))


def _split_by_signature(trace: Trace) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """For each signature: the rows of its first run's operators, a row of durations per run, and the runs."""
    rows = np.flatnonzero(trace.is_operator & (trace.run >= 0))
    signature = trace.signature[trace.run[rows]]
    if trace.signature_count > 1:
        order = np.argsort(signature, kind="stable")
        rows, signature = rows[order], signature[order]
    bounds = np.searchsorted(signature, np.arange(trace.signature_count + 1))
    runs_in_order = np.argsort(trace.signature, kind="stable")
    run_bounds = np.searchsorted(trace.signature[runs_in_order], np.arange(trace.signature_count + 1))
    for number in range(trace.signature_count):
        own = rows[bounds[number] : bounds[number + 1]]
        runs = runs_in_order[run_bounds[number] : run_bounds[number + 1]]
        if len(own):
            yield own[: len(own) // len(runs)], trace.duration_ns[own].reshape(len(runs), -1), runs


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
            delegated=samples.delegated[i],
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
        )
