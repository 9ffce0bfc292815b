"""Digests, so that a result can be tied to the very bytes it was measured with."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_CHUNK = 1 << 20


def file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def content_sha256(path: Path) -> str:
    """The digest of a file, or of all files in a folder with their names."""
    return file_sha256(path) if path.is_file() else files_sha256(p for p in path.iterdir() if p.is_file())


def files_sha256(paths: Iterable[Path]) -> str:
    """The digest of several files with their names."""
    digest = hashlib.sha256()
    for each in sorted(paths):
        digest.update(f"{each.name} {file_sha256(each)}\n".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class RunnerFiles:
    """What a runner is made of, on this machine."""

    program: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = ()

    def digests(self) -> dict[str, str]:
        """By the name a reader knows each by; what there is none of is left out."""
        parts = {"runner": self.program, "runner's libraries": self.libraries}
        return {name: files_sha256(paths) for name, paths in parts.items() if paths}
