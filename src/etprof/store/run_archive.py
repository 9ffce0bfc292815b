"""The folder of a run as one file that can be sent in parts, and back: only plain files below the folder."""

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from etprof.core.errors import StoreError
from etprof.core.layout import RUN_LOCK
from etprof.core.regular_files import MOST_BYTES
from etprof.store.json_file import is_unfinished, write_bytes
from etprof.store.paths import make_folder

_MOST_FILES = 100_000
_HINT = "The machine that sent it may not be one of yours."


def pack_folder(folder: Path, target: IO[bytes]) -> None:
    """Every file below a folder; those that share their bytes do so in the archive, too."""
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.name != RUN_LOCK and not is_unfinished(path):
                archive.add(path, arcname=path.relative_to(folder).as_posix(), recursive=False, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whose file it was there means nothing here."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def unpack_folder(archive: IO[bytes], folder: Path) -> None:
    """Writes the files of an archive below a folder; whatever else is in it is refused."""
    make_folder(folder)
    try:
        with tarfile.open(fileobj=archive, mode="r:") as opened:
            for name, content in _read(opened):
                write_bytes(folder / name, content)
    except (tarfile.TarError, EOFError, ValueError, OSError, RecursionError) as error:
        raise StoreError(f"A run that was received cannot be unpacked: {error}.", hint=_HINT) from error


def _read(archive: tarfile.TarFile) -> Iterator[tuple[PurePosixPath, bytes]]:
    for number, entry in enumerate(archive):
        name = PurePosixPath(entry.name)
        is_below = not name.is_absolute() and ".." not in name.parts and name.parts
        if not (entry.isreg() or entry.islnk()) or not is_below or number >= _MOST_FILES or entry.size > MOST_BYTES:
            raise StoreError(f"A run that was received holds {entry.name!r}, which no run does.", hint=_HINT)
        # Of a file that shares its bytes with an earlier one this gives the earlier one's.
        content = archive.extractfile(entry)
        yield name, content.read() if content else b""
