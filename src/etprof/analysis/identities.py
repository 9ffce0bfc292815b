"""Operators by their identity: which signature and delegate call they belong to, and in which order they run."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from etprof.core.report import OperatorRow

_IDENTITY = re.compile(r"^(?:s(\d+)\.)?([dpx])(\d+)(?:\.(\d+))?$")


class Place(NamedTuple):
    """`group` is d for a delegate call, p for the portable operators of a run, x for strays; sorts by execution."""

    signature: int
    group: str
    call: int
    position: int


def parse_identity(identity: str) -> Place:
    found = _IDENTITY.match(identity)
    if not found:
        raise ValueError(f"{identity!r} is no operator identity")
    signature, group, first, second = found.groups()
    call, position = (int(first), int(second)) if second else (0, int(first))
    return Place(int(signature or 0), group, call, position)


def group_by_call(rows: Sequence[OperatorRow]) -> dict[tuple[int, str, int], list[OperatorRow]]:
    """Rows in order of execution, by signature and delegate call; portable operators are one group."""
    placed = sorted(((parse_identity(row.identity), row) for row in rows), key=lambda item: item[0])
    groups: dict[tuple[int, str, int], list[OperatorRow]] = {}
    for place, row in placed:
        groups.setdefault(place[:3], []).append(row)
    return groups
