"""Operators by their identity: the kind of inference and the delegate call they belong to, and their order in it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

_SPELLING = re.compile(r"(?:s(\d+)\.)?(?:d(\d+)\.|([pxf]))(\d+)", re.ASCII)
_KIND_OF_OPERATOR = re.compile(r" (?:\(|#).*$")

DELEGATED, PORTABLE, STRAY, FUNCTION = "d", "p", "x", "f"


class OperatorId(str):
    """An operator across inferences, spelled as in files and reports: d0.3, p2, s1.d0.3.

    d<call>.<position> in a delegate call, p<position> for a portable operator, x<position> for one outside of its call,
    f<number> for a function of an imported recording. s<kind>. in front numbers the kinds of inferences where there are
    several: `kind` is None where there is one.
    """

    __slots__ = ("call", "group", "kind", "position")
    kind: int | None
    group: str
    call: int
    position: int

    def __new__(cls, text: str) -> "OperatorId":
        found = _SPELLING.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} is not an operator's identity")
        kind, call, group, position = found.groups()
        return cls.build(group or DELEGATED, int(position), call=int(call or 0), kind=int(kind) if kind else None)

    @classmethod
    def build(cls, group: str, position: int, *, call: int = 0, kind: int | None = None) -> "OperatorId":
        place = f"{group}{call}.{position}" if group == DELEGATED else f"{group}{position}"
        made = str.__new__(cls, place if kind is None else f"s{kind}.{place}")
        made.kind, made.group, made.call, made.position = kind, group, call, position
        return made

    @property
    def order(self) -> tuple[int, str, int, int]:
        """Sorts by kind of inference, delegate call and position."""
        return self.kind or 0, self.group, self.call, self.position

    @property
    def of_call(self) -> tuple[int, str, int]:
        """What operators of one delegate call share; portable operators are one group."""
        return self.order[:3]

    def of_kind(self, kind: int | None) -> "OperatorId":
        return OperatorId.build(self.group, self.position, call=self.call, kind=kind)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """In JSON it is text; pydantic asks for this."""
        from pydantic_core import core_schema

        text = core_schema.str_schema()
        return core_schema.no_info_after_validator_function(
            cls, text, serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=text)
        )


@dataclass(frozen=True, eq=False)
class OperatorSamples:
    """The operators of one kind of inference in order of execution, with one row of durations per inference.

    `calls` counts the delegate calls of an inference, those without operators included. `metadata` is what the delegate
    recorded beside the first of the times of each operator; it is empty where there is none at all. `phase` is the
    number of a workload's phase.
    """

    identities: tuple[OperatorId, ...]
    names: tuple[str, ...]
    calls: int
    steady_ns: NDArray[np.int64]
    cold_ns: NDArray[np.int64]
    metadata: tuple[str, ...] = ()
    phase: int | None = None


class Identified(Protocol):
    @property
    def identity(self) -> OperatorId: ...

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Identified)


def group_by_call(rows: Sequence[Row]) -> dict[tuple[int, str, int], list[Row]]:
    """Rows in order of execution, by kind of inference and delegate call."""
    groups: dict[tuple[int, str, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.identity.order):
        groups.setdefault(row.identity.of_call, []).append(row)
    return groups


def pair_operators(baseline: Sequence[Row], candidate: Sequence[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """The same operator in two variants, by delegate call and order.

    Where the variants ran different operators (packing is an operator of its own on one of them) the sequences are
    aligned by kind of operator, and what has no partner stands alone.
    """
    before, after = group_by_call(baseline), group_by_call(candidate)
    for call in sorted(before.keys() | after.keys()):
        yield from _align(before.get(call, []), after.get(call, []))


def _align(before: list[Row], after: list[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    kinds_before, kinds_after = ([_KIND_OF_OPERATOR.sub("", row.name) for row in rows] for rows in (before, after))
    if kinds_before == kinds_after:
        yield from zip(before, after, strict=True)
        return
    matcher = SequenceMatcher(None, kinds_before, kinds_after, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(before[i:i_end], after[j:j_end], strict=True)
        else:
            yield from ((row, None) for row in before[i:i_end])
            yield from ((None, row) for row in after[j:j_end])
