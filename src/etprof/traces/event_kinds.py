"""Settles what each recorded event is, and which inference and delegate call it belongs to."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from etprof.core.trace import Allocations, EventKind, Metadata, Trace
from etprof.traces.delegate_times import Events, settle_times
from etprof.traces.event_extras import Extras, PlacedAllocations
from etprof.traces.event_names import find_plain_names
from etprof.traces.trace_notes import find_findings, find_notes

KIND_OF_NAME = {
    "Method::execute": EventKind.EXECUTE,
    "DELEGATE_CALL": EventKind.DELEGATE_CALL,
    "OPERATOR_CALL": EventKind.OPERATOR_CALL,
    "Method::init": EventKind.SETUP,
    "Program::load_method": EventKind.SETUP,
}
PORTABLE_PREFIX = "native_call_"


@dataclass
class EventColumns:
    """What the file says about each profile event, before anything is concluded from it."""

    name: NDArray[np.int32]
    block: NDArray[np.int32]
    instruction: NDArray[np.int32]
    is_delegated: NDArray[np.bool_]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    filled: int = 0

    @classmethod
    def empty(cls, count: int) -> "EventColumns":
        return cls(
            name=np.empty(count, np.int32),
            block=np.empty(count, np.int32),
            instruction=np.empty(count, np.int32),
            is_delegated=np.empty(count, np.bool_),
            start_ns=np.empty(count, np.int64),
            duration_ns=np.empty(count, np.int64),
        )

    def without_spare(self) -> "EventColumns":
        """Only the filled part: entries of other types (allocations, debug values) left their places unused."""
        if self.filled == len(self.name):
            return self
        part = slice(0, self.filled)
        return EventColumns(
            name=self.name[part],
            block=self.block[part],
            instruction=self.instruction[part],
            is_delegated=self.is_delegated[part],
            start_ns=self.start_ns[part],
            duration_ns=self.duration_ns[part],
            filled=self.filled,
        )


@dataclass(frozen=True)
class TraceParts:
    """A file's events, the names and texts they are numbered by, the names of their blocks, notes on the whole file.

    `newer_version` is the schema's version if it is not the known one.
    """

    columns: EventColumns
    names: tuple[str, ...]
    block_names: tuple[str, ...]
    notes: tuple[str, ...]
    extras: Extras = field(default_factory=Extras)
    texts: tuple[str, ...] = ()
    allocations: PlacedAllocations = field(default_factory=PlacedAllocations)
    newer_version: int | None = None


def build_trace(parts: TraceParts) -> Trace:
    columns, extras = parts.columns, parts.extras
    names = find_plain_names(parts.names)
    kind = _find_kinds(columns, names)
    run, run_count = _find_runs(columns, kind)
    _mark_bare_operator_calls(kind, run)
    first_rows = _find_first_rows(run)
    delegate_call, position = _find_places(columns, kind, run, first_rows)
    signature = _find_signatures(columns, kind, run, first_rows)
    settle_times(Events(kind, run, delegate_call, position, signature, columns.start_ns, columns.duration_ns))
    trace = Trace(
        names=names,
        block_names=parts.block_names,
        name=columns.name,
        kind=kind,
        block=columns.block,
        run=run,
        delegate_call=delegate_call,
        position=position,
        instruction=columns.instruction,
        start_ns=columns.start_ns,
        duration_ns=columns.duration_ns,
        signature=signature,
        run_count=run_count,
        allocations=_find_allocating_runs(parts.allocations, columns, kind),
        metadata=_add_full_names(extras.build_metadata(parts.texts), parts.names, names, columns.name),
    )
    findings = find_findings(trace, extras, parts.newer_version)
    notes = (*parts.notes, *find_notes(trace, extras.debug_events), *(finding.message for finding in findings))
    return replace(trace, notes=notes, findings=findings)


def _add_full_names(
    metadata: Metadata, recorded: tuple[str, ...], names: tuple[str, ...], name: NDArray[np.int32]
) -> Metadata:
    """An event whose recorded name is more than a name keeps all of it as metadata."""
    longer = np.array([full != plain for full, plain in zip(recorded, names, strict=True)], np.bool_)
    if not longer.any():
        return metadata
    rows = np.flatnonzero(longer[name])
    texts = {recorded[number]: None for number in name[rows].tolist()}
    numbers = {text: number for number, text in enumerate(texts, start=len(metadata.texts))}
    row = np.concatenate([metadata.row, rows])
    text = np.array([numbers[recorded[number]] for number in name[rows].tolist()], np.int32)
    # Where a delegate recorded metadata too, that comes first; a row has one text.
    row, first = np.unique(row, return_index=True)
    return Metadata((*metadata.texts, *texts), row, np.concatenate([metadata.text, text])[first])


def _find_allocating_runs(placed: PlacedAllocations, columns: EventColumns, kind: NDArray[np.int8]) -> Allocations:
    """The inference of each allocation: that of the next Method::execute, if it stands in the same block."""
    executes = np.flatnonzero(kind == EventKind.EXECUTE)
    run = np.searchsorted(executes, placed.row).astype(np.int32)
    block_of_run = np.append(columns.block[executes], -1)
    return Allocations(
        names=placed.names,
        allocator=placed.allocator,
        run=np.where(block_of_run[run] == placed.block, run, np.int32(-1)),
        size_bytes=placed.size_bytes,
    )


def _find_kinds(columns: EventColumns, names: tuple[str, ...]) -> NDArray[np.int8]:
    kind_of_name = np.array(
        [
            EventKind.PORTABLE_OPERATOR if name.startswith(PORTABLE_PREFIX) else KIND_OF_NAME.get(name, EventKind.OTHER)
            for name in names
        ],
        np.int8,
    )
    kind = kind_of_name[columns.name]
    kind[columns.is_delegated] = EventKind.DELEGATED_OPERATOR
    return kind


def _find_runs(columns: EventColumns, kind: NDArray[np.int8]) -> tuple[NDArray[np.int32], int]:
    """The run of each row. An event is recorded when it ends, so Method::execute closes the run it contains."""
    is_execute = kind == EventKind.EXECUTE
    execute_rows = np.flatnonzero(is_execute)
    run = _count_before(is_execute)
    # Rows behind the last Method::execute have none to belong to; the extra entry keeps the lookup in range.
    block_of_run = np.append(columns.block[execute_rows], -1)
    start_of_run = np.append(columns.start_ns[execute_rows], 0)
    is_early = (kind == EventKind.OTHER) & (columns.start_ns < start_of_run[run])
    kind[is_early] = EventKind.SETUP
    run[(block_of_run[run] != columns.block) | (kind == EventKind.SETUP)] = -1
    return run, len(execute_rows)


def _mark_bare_operator_calls(kind: NDArray[np.int8], run: NDArray[np.int32]) -> None:
    """An OPERATOR_CALL around no native_call_ is the operator itself: hand-registered kernels record no name."""
    is_portable = kind == EventKind.PORTABLE_OPERATOR
    calls = np.flatnonzero((kind == EventKind.OPERATOR_CALL) | (kind == EventKind.DELEGATE_CALL))
    inside = np.diff(_count_before(is_portable)[calls], prepend=np.int32(0))
    bare = calls[(inside == 0) & (kind[calls] == EventKind.OPERATOR_CALL)]
    kind[bare[run[bare] >= 0]] = EventKind.PORTABLE_OPERATOR


def _find_places(
    columns: EventColumns, kind: NDArray[np.int8], run: NDArray[np.int32], first_rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Delegate call and position of each row, counted from the start of its run."""
    is_call = kind == EventKind.DELEGATE_CALL
    is_delegated = (kind == EventKind.DELEGATED_OPERATOR) & (run >= 0)
    calls_before = _count_before(is_call)
    call_rows = np.flatnonzero(is_call)
    # The last row stands in for the call that never came; it is no DELEGATE_CALL, so nothing belongs to it.
    owner = np.append(call_rows, len(kind) - 1)[calls_before]
    belongs = is_delegated & is_call[owner] & (run[owner] == run)
    belongs &= columns.instruction[owner] == columns.instruction
    has_call = belongs | (is_call & (run >= 0))
    delegate_call = np.full(len(kind), -1, np.int32)
    delegate_call[has_call] = _count_within_run(calls_before, run, first_rows, has_call)

    operators_before = _count_before(belongs)
    before_call = np.append(np.int32(0), operators_before[call_rows])
    position = np.full(len(kind), -1, np.int32)
    position[belongs] = operators_before[belongs] - before_call[calls_before[belongs]]
    for loose in ((kind == EventKind.PORTABLE_OPERATOR) & (run >= 0), is_delegated & ~belongs):
        position[loose] = _count_within_run(_count_before(loose), run, first_rows, loose)
    return delegate_call, position


def _find_signatures(
    columns: EventColumns, kind: NDArray[np.int8], run: NDArray[np.int32], first_rows: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Numbers the distinct sequences of events, in order of appearance."""
    if not len(first_rows):
        return np.zeros(0, np.int32)
    rows = np.flatnonzero(run >= 0)
    first = np.searchsorted(rows, first_rows)
    index = np.arange(len(rows), dtype=np.uint64) - first.astype(np.uint64)[run[rows]]
    mixed = (columns.name[rows].astype(np.uint64) << np.uint64(32)) ^ columns.instruction[rows].astype(np.uint32)
    mixed ^= kind[rows].astype(np.uint64) << np.uint64(60)
    for multiplier in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        mixed = (mixed ^ (mixed >> np.uint64(31)) ^ index) * np.uint64(multiplier)
    _, appeared, number = np.unique(np.add.reduceat(mixed, first), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(appeared)).astype(np.int32)[number]


def _find_first_rows(run: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where each run begins; rows that belong to no run may stand before and between."""
    rows = np.flatnonzero(run >= 0)
    return rows[np.flatnonzero(np.diff(run[rows], prepend=np.int32(-1)))]


def _count_within_run(
    count: NDArray[np.int32], run: NDArray[np.int32], first_rows: NDArray[np.int64], rows: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """A running count at the chosen rows of runs, starting over in every run."""
    return count[rows] - count[first_rows][run[rows]]


def _count_before(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    """How many of the rows before each row have the flag."""
    count = np.cumsum(flags, dtype=np.int32)
    count -= flags
    return count
