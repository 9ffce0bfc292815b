"""Records what a program writes below a folder, and builds what a kill or a loss of power may leave of it.

A file system promises little: the content of a file is on the disk once the file was synced, and the names in a folder
once the folder was. Whatever was done since may be there or not, in any combination, except that what is moved from
one folder to another is in one of them.
"""

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

_CHANGES = ("open", "replace", "rename", "link", "mkdir", "unlink", "remove", "rmdir", "fsync")
Names = dict[str, int]
# As it is while nothing is recorded.
_open = os.open


@dataclass(frozen=True)
class Moment:
    """What programs see, and what is on the disk for sure. Files and folders are numbers; the folder itself is 0."""

    names: dict[int, Names]
    contents: dict[int, bytes]
    synced_names: dict[int, Names]
    synced_contents: dict[int, bytes]
    note: Any = None

    def after_a_kill(self) -> tuple[dict[int, Names], dict[int, bytes]]:
        return self.names, self.contents

    def after_a_loss_of_all(self) -> tuple[dict[int, Names], dict[int, bytes]]:
        """Nothing has reached the disk that was not synced."""
        return self.synced_names, self.synced_contents

    def after_a_loss_of_contents(self) -> tuple[dict[int, Names], dict[int, bytes]]:
        """Every name has reached the disk, and no content that was not synced: such files are empty."""
        return self.names, self.synced_contents

    def after_a_loss_of_names(self) -> tuple[dict[int, Names], dict[int, bytes]]:
        """Every content has reached the disk, and no name that was not synced."""
        return self.synced_names, {**self.synced_contents, **self.contents}

    def after_a_loss_by_lot(self, lot: Random) -> tuple[dict[int, Names], dict[int, bytes]]:
        """Of everything that was not synced, each change has reached the disk or has not."""
        drawn: dict[int, bool] = {}
        folders = {**self.names, **self.synced_names}
        names = {
            folder: self._draw_names(folder, lambda node: drawn.setdefault(node, lot.random() < 0.5))
            for folder in folders
        }
        contents = {}
        for file, content in self.contents.items():
            synced = self.synced_contents.get(file, b"")
            contents[file] = (
                content if content == synced else lot.choice((synced, content, content[: len(content) // 2]))
            )
        return names, {**self.synced_contents, **contents}

    def _draw_names(self, folder: int, is_there: Callable[[int], bool]) -> Names:
        now, before = self.names.get(folder, {}), self.synced_names.get(folder, {})
        drawn: Names = {}
        for name in sorted({**now, **before}):
            # What came, or else what went, by the same lot in both folders.
            source = (
                now if now.get(name) == before.get(name) or is_there(now.get(name, before.get(name, 0))) else before
            )
            if name in source:
                drawn[name] = source[name]
        return drawn


def build_tree(target: Path, names: dict[int, Names], contents: dict[int, bytes], folder: int = 0) -> None:
    """Makes the files and folders of a moment below `target`."""
    target.mkdir(parents=True, exist_ok=True)
    for name, node in names.get(folder, {}).items():
        # Below zero are folders.
        if node < 0:
            build_tree(target / name, names, contents, node)
        else:
            (target / name).write_bytes(contents.get(node, b""))


@dataclass
class WriteRecorder:
    """`note` is kept with every moment from then on."""

    folder: Path
    note: Any = None
    moments: list[Moment] = field(default_factory=list)
    _nodes: dict[int, int] = field(default_factory=dict)
    _count: int = 0
    _synced_names: dict[int, Names] = field(default_factory=dict)
    _synced_contents: dict[int, bytes] = field(default_factory=dict)

    @contextmanager
    def recording(self, patch: pytest.MonkeyPatch) -> Iterator["WriteRecorder"]:
        """What is there at the beginning has been on the disk for long."""
        names, contents = self._look()
        self._synced_names, self._synced_contents = names, contents
        with patch.context() as inner:
            for name in _CHANGES:
                inner.setattr(os, name, self._around(getattr(os, name), is_sync=name == "fsync"))
            for module in (io, builtins):
                inner.setattr(module, "open", self._around(module.open))
            yield self
        self._keep()

    def _around(self, act: Callable[..., Any], *, is_sync: bool = False) -> Callable[..., Any]:
        def record(*args: Any, **kwargs: Any) -> Any:
            self._keep()
            done = act(*args, **kwargs)
            if is_sync:
                self._sync(os.fstat(args[0]).st_ino)
            self._keep()
            return done

        return record

    def _sync(self, inode: int) -> None:
        names, contents = self._look()
        node = self._nodes.get(inode)
        if node in names:
            self._synced_names = _sync_names(node, names, self._synced_names)
        elif node in contents:
            self._synced_contents = {**self._synced_contents, node: contents[node]}

    def _keep(self) -> None:
        names, contents = self._look()
        moment = Moment(names, contents, self._synced_names, self._synced_contents, self.note)
        if not self.moments or moment != self.moments[-1]:
            self.moments.append(moment)

    def _look(self) -> tuple[dict[int, Names], dict[int, bytes]]:
        names: dict[int, Names] = {}
        contents: dict[int, bytes] = {}
        seen = {self.folder.stat().st_ino: 0}
        self._look_into(self.folder, 0, names, contents, seen)
        # The number of a file that is gone is given to another.
        self._nodes = seen
        return names, contents

    def _look_into(
        self, folder: Path, node: int, names: dict[int, Names], contents: dict[int, bytes], seen: dict[int, int]
    ) -> None:
        names[node] = {}
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                inode = entry.inode()
                is_folder = entry.is_dir(follow_symlinks=False)
                child = seen.setdefault(inode, self._nodes.get(inode) or self._next(is_folder))
                if (child < 0) != is_folder:
                    child = seen[inode] = self._next(is_folder)
                names[node][entry.name] = child
                if is_folder:
                    self._look_into(folder / entry.name, child, names, contents, seen)
                elif child not in contents:
                    contents[child] = _read(folder / entry.name)

    def _next(self, is_folder: bool) -> int:
        self._count += 1
        return -self._count if is_folder else self._count


def _sync_names(folder: int, names: dict[int, Names], synced: dict[int, Names]) -> dict[int, Names]:
    """The names of a folder are on the disk from now on; what came from another or went there is so in both."""
    came, went = set(names[folder].values()), set(synced.get(folder, {}).values()) - set(names[folder].values())
    result = {}
    for other in {**names, **synced}:
        now, before = names.get(other, {}), synced.get(other, {})
        kept = {name: node for name, node in before.items() if node not in came or now.get(name) == node}
        moved = {name: node for name, node in now.items() if node in went}
        result[other] = names[folder] if other == folder else {**kept, **moved}
    return result


def _read(path: Path) -> bytes:
    handle = _open(path, os.O_RDONLY)
    try:
        return os.read(handle, 1 << 24)
    finally:
        os.close(handle)
