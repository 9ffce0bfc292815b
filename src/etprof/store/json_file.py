"""JSON files of ours: written whole or not at all, read with one clear error."""

import json
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError
from etprof.core.regular_files import read_regular
from etprof.store.paths import make_folder, open_folder, reason_of, sync_folder, sync_handle

# A thousand blocks of a thousand iterations take a tenth of it.
MOST_JSON_BYTES = 1 << 28
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.part")


def write_json(path: Path, value: Any, *, durable: bool = False) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    write_text(path, text, durable=durable)


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    # A name of a file may hold bytes that are not text; JSON reads the escape back as the same name.
    write_bytes(path, text.encode("utf-8", "backslashreplace"), durable=durable)


def write_bytes(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Writes beside the target and renames, so that a reader never meets half a file; a link is replaced, not followed.

    What is `durable` is still there after a loss of power.
    """
    make_folder(path.parent)
    try:
        if _is_device(path):
            path.write_bytes(content)
            return
        # What is checked is what is written to, whatever takes the folder's place meanwhile.
        with open_folder(path.parent) as folder:
            _write_in(folder, path.name, content, durable=durable)
            if durable:
                sync_handle(folder)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be written: {reason_of(error)}.", hint="Check free space and permissions."
        ) from error


def _write_in(folder: int, name: str, content: bytes, *, durable: bool) -> None:
    temporary = unfinished_name(Path(name)).name
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.unlink(temporary, dir_fd=folder)
        raise


def unfinished_name(path: Path) -> Path:
    """A name beside a path that nobody can have prepared."""
    return path.with_name(f".{secrets.token_hex(8)}.part")


def is_unfinished(path: Path) -> bool:
    """Whether it is a file that `write_bytes` had not given its name yet when its process was ended."""
    return _UNFINISHED.fullmatch(path.name) is not None


def _is_device(path: Path) -> bool:
    """Such as /dev/stdout, which is written to and never replaced. Elsewhere a device or a pipe is somebody's trap."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) and path.exists() and not path.is_file()


def make_durable(folder: Path, names: Iterable[Path]) -> None:
    """Those of the files in a folder that exist survive a loss of power, with the names that lead to them."""
    files = [name for name in names if (folder / name).is_file()]
    try:
        for name in files:
            _sync_file(folder / name)
        for parent in sorted({parent for name in files for parent in name.parents}):
            sync_folder(folder / parent)
    except OSError as error:
        raise StoreError(
            f"The files of a block cannot be saved: {reason_of(error)}.", hint="Check free space and permissions."
        ) from error


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path, *, hint: str = "") -> Any:
    try:
        return json.loads(read_regular(path, MOST_JSON_BYTES).decode("utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"There is no file {path}.", hint=hint) from error
    except json.JSONDecodeError as error:
        raise StoreError(f"{path} is not valid JSON: {error.msg} at line {error.lineno}.", hint=hint) from error
    except RecursionError as error:
        raise StoreError(f"{path} is not a file of etprof: it is nested too deeply.", hint=hint) from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} cannot be read: it is not a text file.", hint=hint) from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {reason_of(error)}.", hint=hint) from error
