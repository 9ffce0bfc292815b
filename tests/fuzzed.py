"""Damaged files: any bytes at all, and valid files with bytes or values changed."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from etprof.core.errors import EtprofError
from hostile_folders import WRONG_VALUES, list_places

EXAMPLES = 5000 if os.environ.get("ETPROF_FUZZ") else 150
_DEEP = (b"[" * 20_000, b'{"a":' * 20_000)
_ODD_TEXT = (b"\0", b"\xff\xfe", b"\n", b'"', b",", b"[", b"9" * 400, b"-1", b"=", b"\xed\xa0\x80", b"`" * 3, *_DEEP)


@dataclass(frozen=True)
class Format:
    """`valid` is put into `file`; `read` is given its path."""

    file: Path
    valid: bytes
    read: Callable[[Path], object]

    def check(self, content: bytes) -> None:
        """A value or an error of ours; anything else fails the test."""
        self.file.write_bytes(content)
        with suppress(EtprofError):
            self.read(self.file)


def damage(valid: bytes) -> st.SearchStrategy[bytes]:
    kinds = [st.binary(max_size=400), st.sampled_from(_DEEP), _edit_bytes(valid)]
    with suppress(ValueError):
        kinds.append(_edit_values(json.loads(valid)))
    return st.one_of(kinds)


def _edit_bytes(valid: bytes) -> st.SearchStrategy[bytes]:
    """A few places of a valid file overwritten, cut out or added to; or its end missing."""
    piece = st.binary(max_size=8) | st.sampled_from(_ODD_TEXT)
    edits = st.lists(st.tuples(st.integers(0, len(valid)), st.integers(0, 8), piece), min_size=1, max_size=4)
    return st.tuples(edits, st.none() | st.integers(0, len(valid))).map(lambda drawn: _apply(valid, *drawn))


def _apply(valid: bytes, edits: list[tuple[int, int, bytes]], end: int | None) -> bytes:
    for at, length, piece in edits:
        valid = valid[:at] + piece + valid[at + length :]
    return valid[:end]


def _edit_values(value: Any) -> st.SearchStrategy[bytes]:
    """Valid JSON with one value changed to one of another kind, or left out."""
    places = list(list_places(value)) or [()]
    changes = st.tuples(st.sampled_from(places), st.sampled_from(range(len(WRONG_VALUES) + 1)))
    return changes.map(lambda drawn: _put(value, *drawn))


def _put(value: Any, where: tuple[str | int, ...], which: int) -> bytes:
    changed = json.loads(json.dumps(value))
    at = changed
    for key in where[:-1]:
        at = at[key]
    if which == len(WRONG_VALUES):
        del at[where[-1]]
    else:
        at[where[-1]] = WRONG_VALUES[which]
    return json.dumps(changed).encode()
