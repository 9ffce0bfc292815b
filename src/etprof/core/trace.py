"""One ETDump as columns: a row per profile event, its kind settled once and for all by the reader."""

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from etprof.core.findings import Finding
from etprof.core.operators import DELEGATED, PORTABLE, STRAY, OperatorId


class EventKind(IntEnum):
    """What a row is. Only the two operator kinds own time; a container's time is that of what it contains."""

    EXECUTE = 0  # Method::execute: one whole inference
    DELEGATE_CALL = 1  # container of the operators a backend ran
    OPERATOR_CALL = 2  # container of one portable operator
    DELEGATED_OPERATOR = 3
    PORTABLE_OPERATOR = 4
    SETUP = 5  # Program::load_method, Method::init and the like, outside any inference
    OTHER = 6  # inside an inference, but none of the above; named in the report
    # From here on: recorded by delegates, and in no sum.
    DELEGATE_STAGE = 7  # a delegate's event that encloses others of it; its time is theirs
    OVERLAPPING_OPERATOR = 8  # a delegate's operator that ran beside others: it has a time, and is in no sum
    UNTIMED_OPERATOR = 9  # on a clock that does not fit its call: its duration is a number of unknown unit


@dataclass(frozen=True, eq=False)
class Allocations:
    """Memory that was taken from the runtime's allocators; columns of equal length, in recorded order.

    `allocator` numbers `names`; `run` is the inference, -1 outside of any.
    """

    names: tuple[str, ...] = ()
    allocator: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    run: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    size_bytes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.size_bytes)


@dataclass(frozen=True, eq=False)
class Metadata:
    """What delegates recorded beside the times of some events: `text` numbers `texts`, `row` is the event's row."""

    texts: tuple[str, ...] = ()
    row: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    text: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def of(self, row: int) -> str:
        place = int(np.searchsorted(self.row, row))
        return self.texts[self.text[place]] if place < len(self.row) and self.row[place] == row else ""


@dataclass(frozen=True, eq=False)
class Trace:
    """Columns of equal length, in recorded order; `signature` has one entry per inference instead.

    `run` counts inferences from 0 and is -1 outside of them: before the first, and for what a cut-off inference left
    behind. `delegate_call` is the ordinal of the DELEGATE_CALL within its run that the row belongs to (the container
    itself included), -1 elsewhere. `position` is the ordinal of an operator within its delegate call, or of a portable
    operator within its run: with `delegate_call` it is the operator's identity across runs, which its `#n` is not.

    Inferences with the same `signature` recorded the same events in the same order. A trace of one method on one
    input shape has one signature; several methods, or control flow, give several.

    `notes` are sentences on what is unusual; those that cast doubt on times are `findings` as well.

    `phase` and `cold` have one entry per inference, where a workload tells them: the number of the phase that the
    inference is a step of, and whether its sequence is the first.
    """

    names: tuple[str, ...]
    block_names: tuple[str, ...]
    name: NDArray[np.int32]
    kind: NDArray[np.int8]
    block: NDArray[np.int32]
    run: NDArray[np.int32]
    delegate_call: NDArray[np.int32]
    position: NDArray[np.int32]
    instruction: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    signature: NDArray[np.int32]
    run_count: int
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    allocations: Allocations = field(default_factory=Allocations)
    metadata: Metadata = field(default_factory=Metadata)
    phase: NDArray[np.int32] | None = None
    cold: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def signature_count(self) -> int:
        return int(self.signature.max()) + 1 if self.run_count else 0

    @cached_property
    def is_operator(self) -> NDArray[np.bool_]:
        """Per row: whether it owns its time."""
        owns: NDArray[np.bool_] = (self.kind == EventKind.DELEGATED_OPERATOR) | (
            self.kind == EventKind.PORTABLE_OPERATOR
        )
        return owns

    @cached_property
    def is_apart(self) -> NDArray[np.bool_]:
        """Per row: whether a delegate recorded it and no sum includes it."""
        apart: NDArray[np.bool_] = self.kind >= EventKind.DELEGATE_STAGE
        return apart

    @cached_property
    def is_steady(self) -> NDArray[np.bool_]:
        """Per run. The first run of each signature is cold, unless it is the only one that there is."""
        if self.cold is not None:
            return ~self.cold
        steady = np.ones(self.run_count, np.bool_)
        _, first, count = np.unique(self.signature, return_index=True, return_counts=True)
        steady[first[count > 1]] = False
        return steady

    def rows_of(self, runs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Per row: whether it belongs to one of the chosen runs."""
        # One more entry, for run -1: what belongs to no run is never chosen.
        chosen = np.append(runs, False)
        rows: NDArray[np.bool_] = chosen[self.run]
        return rows

    def names_of(self, rows: NDArray[np.bool_]) -> tuple[str, ...]:
        """The names these rows have, each once, in the order of `names`."""
        # Not by np.unique, which imports a megabyte of numpy.ma to see whether its argument is masked.
        return tuple(self.names[i] for i in np.flatnonzero(np.bincount(self.name[rows])))

    def identity(self, row: int, kind: int | None = None) -> OperatorId:
        """The identity of an operator's row; `kind` numbers the kinds of inferences where there are several."""
        position = int(self.position[row])
        if self.kind[row] == EventKind.PORTABLE_OPERATOR:
            return OperatorId.build(PORTABLE, position, kind=kind)
        call = int(self.delegate_call[row])
        if call < 0:
            return OperatorId.build(STRAY, position, kind=kind)
        return OperatorId.build(DELEGATED, position, call=call, kind=kind)
