"""What a reader of a trace has to know about it: cut-off runs, several signatures, events of unknown meaning."""

from collections.abc import Iterator

import numpy as np

from etprof.core.findings import Finding, FindingKind
from etprof.core.trace import EventKind, Trace
from etprof.traces.event_extras import Extras

# What is said of delegates' events that own no time: which they are, what is done with them, and what a reader can do.
_APART = {
    EventKind.DELEGATE_STAGE: (
        FindingKind.OPERATORS_NESTED,
        "enclose other events of their delegate call",
        "Their time is that of the events inside.",
        "Add up operators only; what no operator inside of them owns is delegate overhead.",
    ),
    EventKind.OVERLAPPING_OPERATOR: (
        FindingKind.OPERATORS_OVERLAP,
        "ran at the same time as others of their delegate call, or add up to more than it",
        "They are shown and not added up.",
        "Compare the delegate calls, which are measured as a whole.",
    ),
    EventKind.UNTIMED_OPERATOR: (
        FindingKind.CLOCK_UNKNOWN,
        "were recorded on a clock that does not fit their delegate call",
        "They are shown in units of that clock and have no time.",
        "Read the delegate's documentation for the unit; the time of the delegate call itself is right.",
    ),
}
_MOST_NAMES = 3


def find_notes(trace: Trace, debug_events: int) -> tuple[str, ...]:
    notes = []
    in_run = trace.run >= 0
    lost = np.count_nonzero(~in_run & (trace.kind != EventKind.SETUP))
    if lost:
        notes.append(f"{lost:,} events belong to no complete inference (it was cut off); no total includes them.")
    if not trace.run_count:
        notes.append("There is no complete inference in this trace.")
    elif trace.signature_count > 1:
        counts = np.bincount(trace.signature)
        shown = ", ".join(f"{count:,}" for count in counts[:8]) + (", ..." if len(counts) > 8 else "")
        notes.append(
            f"Its inferences are of {len(counts):,} kinds (several methods, input shapes or branches), with {shown} "
            "runs; operators are listed by kind."
        )
    is_delegated = (trace.kind == EventKind.DELEGATED_OPERATOR) | trace.is_apart
    loose = np.count_nonzero(is_delegated & in_run & (trace.delegate_call < 0))
    if loose:
        notes.append(f"{loose:,} delegated operators are outside any DELEGATE_CALL of their instruction.")
    unknown = trace.names_of((trace.kind == EventKind.OTHER) & in_run)
    if unknown:
        names = ", ".join(map(repr, unknown[:5]))
        notes.append(f"Events of unknown meaning are counted as framework overhead: {names}.")
    if debug_events:
        notes.append(f"{debug_events:,} debug events (tensor contents) were recorded: they slow the inferences down.")
    return tuple(notes)


def find_findings(trace: Trace, extras: Extras, newer_version: int | None) -> tuple[Finding, ...]:
    return (*_events_apart(trace), *_newer_parts(extras, newer_version))


def _events_apart(trace: Trace) -> Iterator[Finding]:
    if not trace.is_apart.any():
        return
    for kind, (finding, which, what, advice) in _APART.items():
        rows = trace.kind == kind
        if not rows.any():
            continue
        count = np.count_nonzero(rows) / trace.run_count
        names = trace.names_of(rows)
        shown = ", ".join(map(repr, names[:_MOST_NAMES])) + (", ..." if len(names) > _MOST_NAMES else "")
        message = f"Delegated events that {which}, in an inference: {count:,.3g} ({shown}). {what}"
        yield Finding(finding, message, advice)


def _newer_parts(extras: Extras, newer_version: int | None) -> Iterator[Finding]:
    parts = []
    if newer_version is not None:
        parts.append(f"its schema has version {newer_version}, and 0 is known")
    if extras.newer:
        parts.append(f"there are unknown fields in {', '.join(sorted(extras.newer))}")
    if extras.unknown_events:
        parts.append(f"{extras.unknown_events:,} events are of an unknown type")
    if parts:
        yield Finding(
            FindingKind.NEWER_TRACE,
            f"The trace was written by another version of ExecuTorch: {'; '.join(parts)}. The rest was read.",
            "Use a newer etprof, if there is one.",
        )
