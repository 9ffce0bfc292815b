"""The probed tables of kernels that ship with the package: one file for each version of ExecuTorch."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError
from etprof.core.predictions import PROBE_COMMAND, CpuLevel, KernelCase, KernelRow, KernelTable
from etprof.store.json_file import write_json

_FOLDER = "kernel_tables"
SCHEMA_VERSION = 1


def kernel_table_name(executorch: str) -> str:
    """A version may carry what it was built for, as in 1.5.1+cpu; its kernels are the same."""
    return f"executorch-{executorch.partition('+')[0]}.json"


def list_versions() -> tuple[str, ...]:
    """The versions of ExecuTorch that were probed."""
    names = (each.name for each in (resources.files("etprof.store") / _FOLDER).iterdir())
    return tuple(sorted(name.removeprefix("executorch-").removesuffix(".json") for name in names))


@cache
def load_kernel_table(executorch: str) -> KernelTable | None:
    """The table of this version of ExecuTorch; None where it was not probed."""
    name = kernel_table_name(executorch)
    listed = {each.name: each for each in (resources.files("etprof.store") / _FOLDER).iterdir()}
    return parse_kernel_table(json.loads(listed[name].read_text(encoding="utf-8")), name) if name in listed else None


def save_kernel_table(path: Path, table: KernelTable) -> None:
    content = {
        "schema_version": SCHEMA_VERSION,
        "executorch": table.executorch,
        "executorch_commit": table.executorch_commit,
        "library_sha256": table.library_sha256,
        "rows": [
            {**asdict(row.case), "families": dict(row.families), "functions": dict(row.functions)} for row in table.rows
        ],
    }
    write_json(path, content)


def parse_kernel_table(content: Any, origin: str) -> KernelTable:
    hint = f"Probe it again: {PROBE_COMMAND}"
    if not isinstance(content, Mapping) or content.get("schema_version") != SCHEMA_VERSION:
        raise StoreError(f"{origin} is not a table of kernels of version {SCHEMA_VERSION}.", hint=hint)
    try:
        rows = tuple(_parse_row(row) for row in content["rows"])
        return KernelTable(content["executorch"], content["executorch_commit"], content["library_sha256"], rows)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{origin} is not a table of kernels: {error}.", hint=hint) from error


def _parse_row(row: Mapping[str, Any]) -> KernelRow:
    case = KernelCase(**{name: row[name] for name in KernelCase.__dataclass_fields__})
    families = {CpuLevel(level): str(family) for level, family in row["families"].items()}
    functions = {CpuLevel(level): tuple(names) for level, names in row["functions"].items()}
    return KernelRow(case, families, functions)
