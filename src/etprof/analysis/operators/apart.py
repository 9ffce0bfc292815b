"""Events that are in no sum, shown by themselves: those of delegates that cannot be added up, and allocations."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from etprof.analysis.operators.accounting import sum_by
from etprof.core.findings import Finding
from etprof.core.inferences import number_runs
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.rows import AllocationRow, ApartRow
from etprof.core.trace import EventKind, Trace
from etprof.core.units import NS_PER_MS

_REASONS = {
    EventKind.DELEGATE_STAGE: "stage",
    EventKind.OVERLAPPING_OPERATOR: "overlapping",
    EventKind.UNTIMED_OPERATOR: "other clock",
}


def list_apart(traces: Sequence[Trace]) -> tuple[ApartRow, ...]:
    """Delegates' events that own no time, over the steady inferences, in the order of their calls."""
    if not any(trace.is_apart.any() for trace in traces):
        return ()
    kinds = number_runs(traces)
    found: dict[tuple[OperatorId, str, EventKind], tuple[int, int, str]] = {}
    for trace, kind_of_run in zip(traces, kinds, strict=True):
        for row, count, total in _sum_apart(trace):
            run = int(trace.run[row])
            number = kind_of_run.get(run, int(trace.signature[run]) if trace.signature_count > 1 else None)
            key = trace.identity(row, number), trace.names[trace.name[row]], EventKind(trace.kind[row])
            before, sum_before, text = found.get(key, (0, 0, trace.metadata.of(row)))
            found[key] = before + count, sum_before + total, text
    return tuple(
        ApartRow(
            identity=identity,
            name=name,
            reason=_REASONS[kind],
            count=count,
            mean_ms=None if kind == EventKind.UNTIMED_OPERATOR else total / count / NS_PER_MS,
            mean_ticks=total / count if kind == EventKind.UNTIMED_OPERATOR else None,
            metadata=text,
        )
        for (identity, name, kind), (count, total, text) in sorted(found.items(), key=lambda item: item[0][0].order)
    )


def list_trace_findings(variant: Variant, traces: Sequence[Trace]) -> tuple[Finding, ...]:
    """What the traces of a variant give reason to doubt, each once."""
    found = dict.fromkeys(finding for trace in traces for finding in trace.findings)
    return tuple(replace(finding, message=f"{variant.label}: {finding.message}") for finding in found)


def _sum_apart(trace: Trace) -> list[tuple[int, int, int]]:
    """For each such event of a kind of inference: its first row, how often it happened, and its durations' sum."""
    rows = np.flatnonzero(trace.is_apart & trace.rows_of(trace.is_steady))
    if not len(rows):
        return []
    key = np.zeros(len(rows), np.int64)
    for part in (trace.signature[trace.run[rows]], trace.delegate_call[rows] + 1, trace.position[rows]):
        key = key * (int(part.max()) + 1) + part
    _, first, number, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    total = sum_by(number.astype(np.int32), trace.duration_ns[rows], len(first))
    return list(zip(rows[first].tolist(), count.tolist(), total.tolist(), strict=True))


def list_allocations(traces: Sequence[Trace]) -> tuple[AllocationRow, ...]:
    """What was taken from each allocator, in the order in which the traces name them."""
    runs = sum(trace.run_count for trace in traces)
    inside: dict[str, list[int]] = {}
    for trace in traces:
        recorded = trace.allocations
        for number, name in enumerate(recorded.names):
            own = recorded.allocator == number
            for offset, chosen in ((0, own & (recorded.run >= 0)), (2, own & (recorded.run < 0))):
                counts = inside.setdefault(name, [0, 0, 0, 0])
                counts[offset] += int(np.count_nonzero(chosen))
                counts[offset + 1] += int(recorded.size_bytes[chosen].sum())
    return tuple(
        AllocationRow(name, count / max(runs, 1), size / max(runs, 1), count_outside, size_outside)
        for name, (count, size, count_outside, size_outside) in inside.items()
        if count or count_outside
    )
