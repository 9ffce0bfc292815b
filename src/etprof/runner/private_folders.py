"""What is kept to be executed later: in folders that only their owner can write to, and by its digest."""

import hashlib
import os
import stat
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.errors import RunnerError

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def make_private_folder(folder: Path) -> None:
    """Makes a folder, and those above it that are not there yet, for this user alone."""
    for each in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        each.mkdir(mode=0o700, exist_ok=True)


def check_private(top: Path, *paths: Path) -> None:
    """Refuses paths that others can change: each of them and the folders between it and `top`, which may be a link."""
    real = top.resolve()
    inside = {path.relative_to(top) for path in paths}
    for each in sorted({parent for path in inside for parent in (path, *path.parents)}):
        _check(real / each, top)


def _check(path: Path, top: Path) -> None:
    state = path.lstat()
    if stat.S_ISLNK(state.st_mode):
        raise RunnerError(f"{path} is a link: what it leads to may not be yours.", hint=f"Remove it from {top}.")
    if state.st_uid not in (os.geteuid(), 0):
        raise RunnerError(
            f"{path} belongs to another user, who could change what is executed from it.",
            hint="Set ETPROF_CACHE to a folder of your own.",
        )
    if state.st_mode & _WRITABLE_BY_OTHERS:
        raise RunnerError(
            f"{path} can be written by other users, who could change what is executed from it.",
            hint=f"If they have not: chmod -R go-w {top}. Otherwise remove that folder; it is filled again.",
        )


def close_to_others(folder: Path) -> None:
    """Takes from others the right to write to a folder and what is in it, which they have where the umask says so."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_WRITABLE_BY_OTHERS)


def tree_sha256(folder: Path) -> str:
    """The digest of all files below a folder, with their names and whether they can be executed."""
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        digest.update(f"{path.relative_to(folder)} {os.access(path, os.X_OK)} {file_sha256(path)}\n".encode())
    return digest.hexdigest()
