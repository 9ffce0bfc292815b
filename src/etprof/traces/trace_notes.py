"""What a reader of a trace has to know about it: cut-off runs, several signatures, events of unknown meaning."""

import numpy as np

from etprof.core.trace import EventKind, Trace


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
    loose = np.count_nonzero((trace.kind == EventKind.DELEGATED_OPERATOR) & in_run & (trace.delegate_call < 0))
    if loose:
        notes.append(f"{loose:,} delegated operators are outside any DELEGATE_CALL of their instruction.")
    unknown = trace.names_of((trace.kind == EventKind.OTHER) & in_run)
    if unknown:
        names = ", ".join(map(repr, unknown[:5]))
        notes.append(f"Events of unknown meaning are counted as framework overhead: {names}.")
    if debug_events:
        notes.append(f"{debug_events:,} debug events (tensor contents) were recorded: they slow the inferences down.")
    return tuple(notes)
