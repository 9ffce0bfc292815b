"""Finds the operator that was running at the moment of each sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.core.trace import EventKind, Trace

NOWHERE = -1
# XNNPACK cuts each operator's time down to whole microseconds and lays them back to back: half of one is lost each.
_LOST_NS = 500


@dataclass(frozen=True)
class Attribution:
    """`operator` has one entry per sample: its place in `rows`, or NOWHERE.

    `rows` are the operators of the trace, each by the first row it has there.
    """

    rows: NDArray[np.int64]
    operator: NDArray[np.int64]


def attribute_samples(trace: Trace, time_ns: NDArray[np.int64]) -> Attribution:
    rows = np.flatnonzero(trace.is_operator & (trace.run >= 0))
    if not len(rows):
        return Attribution(rows, np.full(len(time_ns), NOWHERE))
    first, number = _number_operators(trace, rows)
    start_ns, end_ns = _true_spans(trace, rows)
    order = np.argsort(start_ns, kind="stable")
    # An operator of no length begins where the next one does; the last to begin is the one that ran.
    found = np.searchsorted(start_ns[order], time_ns, side="right") - 1
    row = order[np.maximum(found, 0)]
    inside = (found >= 0) & (time_ns < end_ns[row])
    return Attribution(rows[first], np.where(inside, number[row], NOWHERE))


def _number_operators(trace: Trace, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Operators are the same across inferences when signature, delegate call and position are."""
    parts = (
        trace.signature[trace.run[rows]],
        trace.kind[rows],
        trace.delegate_call[rows] + 1,
        trace.position[rows] + 1,
    )
    key = np.zeros(len(rows), np.int64)
    for part in parts:
        key = key * (int(part.max()) + 1) + part
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number


def _true_spans(trace: Trace, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where operators most likely began and ended, with the time that the record cut off put back."""
    delegated = trace.kind[rows] == EventKind.DELEGATED_OPERATOR
    lost = np.where(delegated & (trace.delegate_call[rows] >= 0), trace.position[rows] * _LOST_NS, 0)
    start = trace.start_ns[rows] + lost
    return start, start + trace.duration_ns[rows] + np.where(delegated, _LOST_NS, 0)
