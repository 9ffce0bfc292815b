"""Accounts for every nanosecond of the traced inferences: by owner (operators, overheads) and by category."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.core.categories import (
    CATEGORIES,
    DELEGATE_OVERHEAD,
    FRAMEWORK_OVERHEAD,
    OVERHEADS,
    RULES,
    UNDIVIDED,
    Rule,
    categorize,
)
from etprof.core.operators import OperatorSamples
from etprof.core.rows import Accounting, CategoryRow
from etprof.core.trace import EventKind, Trace


@dataclass(frozen=True)
class RunAccounting:
    """Where the time of each inference of one trace went, in nanoseconds; the parts of every run add up to it."""

    end_to_end: NDArray[np.int64]
    delegated: NDArray[np.int64]
    portable: NDArray[np.int64]
    delegate_overhead: NDArray[np.int64]
    framework_overhead: NDArray[np.int64]
    undivided: NDArray[np.int64]


def account_runs(trace: Trace) -> RunAccounting:
    end_to_end = _sum_by_run(trace, trace.kind == EventKind.EXECUTE)
    delegate_calls = _sum_by_run(trace, trace.kind == EventKind.DELEGATE_CALL)
    is_delegated = trace.kind == EventKind.DELEGATED_OPERATOR
    inside_calls = _sum_by_run(trace, is_delegated & (trace.delegate_call >= 0))
    delegated = _sum_by_run(trace, is_delegated)
    portable = _sum_by_run(trace, trace.kind == EventKind.PORTABLE_OPERATOR)
    undivided = _sum_undivided(trace)
    framework_overhead = end_to_end - (delegated - inside_calls) - portable - delegate_calls
    return RunAccounting(
        end_to_end=end_to_end,
        delegated=delegated,
        portable=portable,
        delegate_overhead=delegate_calls - inside_calls - undivided,
        framework_overhead=framework_overhead,
        undivided=undivided,
    )


def _sum_undivided(trace: Trace) -> NDArray[np.int64]:
    """Of the calls with operators that are in no sum: what no other operator of theirs owns."""
    unsummed = (trace.kind == EventKind.OVERLAPPING_OPERATOR) | (trace.kind == EventKind.UNTIMED_OPERATOR)
    if not unsummed.any():
        return np.zeros(trace.run_count, np.int64)
    call = trace.run * (np.int64(trace.delegate_call.max()) + 1) + trace.delegate_call
    in_call = (trace.run >= 0) & (trace.delegate_call >= 0)
    affected = in_call & np.isin(call, call[unsummed & in_call])
    calls = _sum_by_run(trace, affected & (trace.kind == EventKind.DELEGATE_CALL))
    return calls - _sum_by_run(trace, affected & (trace.kind == EventKind.DELEGATED_OPERATOR))


def build_accounting(traces: Sequence[Trace], *, cold: bool = False, phase: int | None = None) -> Accounting:
    """The sum over the steady inferences of all traces, or over the cold ones; with `phase` over its steps alone."""
    parts = [(account_runs(trace), (trace.is_steady != cold) & _is_of(trace, phase)) for trace in traces]

    def total(column: str) -> int:
        return sum(int(getattr(runs, column)[chosen].sum()) for runs, chosen in parts)

    return Accounting(
        runs=sum(int(chosen.sum()) for _, chosen in parts),
        end_to_end_ns=total("end_to_end"),
        delegated_ns=total("delegated"),
        portable_ns=total("portable"),
        delegate_overhead_ns=total("delegate_overhead"),
        framework_overhead_ns=total("framework_overhead"),
        setup_ns=sum(_sum_setup(trace) for trace in traces),
        undivided_ns=total("undivided"),
    )


def _is_of(trace: Trace, phase: int | None) -> NDArray[np.bool_]:
    """Per inference: whether it is a step of this phase; of none in particular, all are."""
    if phase is None or trace.phase is None:
        return np.full(trace.run_count, phase is None)
    found: NDArray[np.bool_] = trace.phase == phase
    return found


def build_categories(
    tables: Sequence[OperatorSamples], accounting: Accounting, rules: Sequence[Rule] = RULES
) -> tuple[CategoryRow, ...]:
    """The categories in their fixed order, then undivided time if there is some, then the two overheads.

    They add up to the end-to-end time exactly.

    `tables` are the operators of the traces that `accounting` is about.
    """
    times: Counter[str] = Counter()
    events: Counter[str] = Counter()
    for table in tables:
        for name, time_ns in zip(table.names, table.steady_ns.sum(axis=0).tolist(), strict=True):
            category = categorize(name, rules).name
            times[category] += time_ns
            events[category] += len(table.steady_ns)
    times[DELEGATE_OVERHEAD] = accounting.delegate_overhead_ns
    times[FRAMEWORK_OVERHEAD] = accounting.framework_overhead_ns
    own = sorted(set(times) - {*CATEGORIES, *OVERHEADS})
    undivided = (UNDIVIDED,) if accounting.undivided_ns else ()
    times[UNDIVIDED] = accounting.undivided_ns
    return tuple(
        CategoryRow(
            name=name,
            total_ns=times[name],
            mean_ms=accounting.per_run_ms(times[name]),
            share=times[name] / accounting.end_to_end_ns if accounting.end_to_end_ns else 0.0,
            events_per_run=events[name] / accounting.runs if accounting.runs else 0.0,
        )
        for name in (*CATEGORIES, *own, *undivided, *OVERHEADS)
    )


def sum_by(key: NDArray[np.int32], value: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Exact integer sums per key: bincount adds floating-point numbers, which end at 2^53."""
    low = np.bincount(key, weights=value & 0xFFFFFF, minlength=count)
    high = np.bincount(key, weights=value >> 24, minlength=count)
    total: NDArray[np.int64] = (high.astype(np.int64) << 24) + low.astype(np.int64)
    return total


def _sum_by_run(trace: Trace, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    rows = rows & (trace.run >= 0)
    return sum_by(trace.run[rows], trace.duration_ns[rows], trace.run_count)


def _sum_setup(trace: Trace) -> int:
    """Load and init happen inside one another (load_method contains init): overlapping time counts once."""
    rows = np.flatnonzero(trace.kind == EventKind.SETUP)
    order = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    start = trace.start_ns[order]
    end = start + trace.duration_ns[order]
    reached = np.maximum.accumulate(np.append(np.int64(0), end))[:-1]
    return int(np.maximum(end - np.maximum(start, reached), 0).sum())
