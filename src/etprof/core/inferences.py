"""The inferences of traces by kind: those that ran the same operators in the same order, in one process or several."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from etprof.core.operators import OperatorId
from etprof.core.trace import EventKind, Trace

# The blocks of a run execute the same operators: their identities are built once and looked up after that.
_Known = dict[tuple[bytes, bytes, bytes], tuple[OperatorId, ...]]


@dataclass(frozen=True, eq=False)
class Inferences:
    """All inferences of one kind in one trace.

    `kind` numbers the kinds over all traces, None where there is one. `rows` are those of the operators of the first of
    these inferences, `runs` the inferences' numbers in the trace, `duration_ns` a row of durations for each. `phase` is
    that of a workload: inferences of two phases are of two kinds.
    """

    trace: Trace
    kind: int | None
    identities: tuple[OperatorId, ...]
    names: tuple[str, ...]
    calls: int
    rows: NDArray[np.int64]
    runs: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    phase: int | None = None


def split_inferences(traces: Sequence[Trace]) -> tuple[tuple[Inferences, ...], ...]:
    """For each trace its inferences by kind; the same operators in several traces are the same kind."""
    known: _Known = {}
    found = [list(_split(trace, known)) for trace in traces]
    numbers: dict[object, int] = {}
    for part in (part for parts in found for part in parts):
        numbers.setdefault(_key(part), len(numbers))
    if len(numbers) <= 1:
        return tuple(tuple(parts) for parts in found)
    return tuple(tuple(_numbered(part, numbers[_key(part)]) for part in parts) for parts in found)


def number_runs(traces: Sequence[Trace]) -> tuple[dict[int, int | None], ...]:
    """For each trace the kind of every inference that has operators, by its number in the trace."""
    return tuple({run: part.kind for part in parts for run in part.runs.tolist()} for parts in split_inferences(traces))


def _key(part: Inferences) -> object:
    return part.phase, part.identities, part.names, part.calls


def _numbered(part: Inferences, kind: int) -> Inferences:
    return replace(part, kind=kind, identities=tuple(identity.of_kind(kind) for identity in part.identities))


def _split(trace: Trace, known: _Known) -> Iterator[Inferences]:
    in_run = trace.run[(trace.kind == EventKind.DELEGATE_CALL) & (trace.run >= 0)]
    calls = np.bincount(in_run, minlength=trace.run_count)
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
        if not len(own):
            continue
        first = own[: len(own) // len(runs)]
        yield Inferences(
            trace=trace,
            kind=None,
            identities=_identify(trace, first, known),
            names=tuple(trace.names[n] for n in trace.name[first].tolist()),
            calls=int(calls[runs[0]]),
            rows=first,
            runs=runs,
            duration_ns=trace.duration_ns[own].reshape(len(runs), -1),
            phase=None if trace.phase is None else int(trace.phase[runs[0]]),
        )


def _identify(trace: Trace, rows: NDArray[np.int64], known: _Known) -> tuple[OperatorId, ...]:
    place = trace.kind[rows].tobytes(), trace.delegate_call[rows].tobytes(), trace.position[rows].tobytes()
    if place not in known:
        known[place] = tuple(trace.identity(row) for row in rows.tolist())
    return known[place]
