"""Attributes of torch and ExecuTorch replaced for a while, where they offer no way to be told.

Each use says why. All were written against torch 2.13.0 and executorch 1.5.1; an attribute that is gone is an error, so
that another version is noticed rather than left unpatched.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def replaced(owner: Any, name: str, value: Any, *, added: bool = False) -> Iterator[None]:
    """`owner.name` is `value` inside the block. `added` says that the owner itself does not have it."""
    before = vars(owner).get(name, _ABSENT)
    if before is _ABSENT and not added:
        raise AttributeError(f"{owner!r} has no attribute {name!r} of its own to replace")
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


@contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
