"""JSON files of ours: written whole or not at all, read with one clear error."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes beside the target and renames, so that a reader never meets half a file."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", hint="Check free space and permissions."
        ) from error


def read_json(path: Path, *, hint: str = "") -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"There is no file {path}.", hint=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}.", hint=hint) from error
    except json.JSONDecodeError as error:
        raise StoreError(f"{path} is not valid JSON: {error.msg} at line {error.lineno}.", hint=hint) from error
