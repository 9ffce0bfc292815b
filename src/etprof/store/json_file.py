"""JSON files of ours: written whole or not at all, read with one clear error."""

import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError
from etprof.core.regular_files import read_regular
from etprof.store.paths import make_folder, reason_of

# A thousand blocks of a thousand iterations take a tenth of it.
MOST_JSON_BYTES = 1 << 28


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
    # A name that nobody can have prepared.
    temporary = path.parent / f".{secrets.token_hex(8)}.part"
    try:
        if _is_device(path):
            path.write_bytes(content)
            return
        with temporary.open("xb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            sync_folder(path.parent)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {reason_of(error)}.", hint="Check free space and permissions."
        ) from error


def _is_device(path: Path) -> bool:
    """Such as /dev/stdout, which is written to and never replaced. Elsewhere a device or a pipe is somebody's trap."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) and path.exists() and not path.is_file()


def make_durable(paths: Iterable[Path]) -> None:
    """Those of the files that exist survive a loss of power, with their names."""
    files = [path for path in paths if path.is_file()]
    try:
        for path in files:
            _sync(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        for folder in {path.parent for path in files}:
            sync_folder(folder)
    except OSError as error:
        raise StoreError(
            f"The files of a block cannot be saved: {reason_of(error)}.", hint="Check free space and permissions."
        ) from error


def sync_folder(folder: Path) -> None:
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
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
