"""The kernels of a variant as CSV, one row per operator and kernel: written here, and read back here."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from etprof.core.csv_cells import guard_cell, unguard_cell
from etprof.core.errors import StoreError
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.kernel_records import KernelRecord, list_kernels
from etprof.core.samples import EXECUTED, KernelLine
from etprof.store.json_file import write_text

# New columns are added behind these, and none is ever taken away.
COLUMNS = ("level", *KernelRecord._fields)
_LATER_COLUMNS = ("model_id",)


def save_kernels(path: Path, evidences: Iterable[KernelEvidence]) -> None:
    write_rows(path, (_row(record) for evidence in evidences for record in list_kernels(evidence)))


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, (*COLUMNS, *_LATER_COLUMNS), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guard_cell(cell) for name, cell in row.items()} for row in rows)
    write_text(path, text.getvalue())


def _row(record: KernelRecord) -> dict[str, object]:
    cells = {name: f"{cell:.4f}" if isinstance(cell, float) else cell for name, cell in record._asdict().items()}
    return {**cells, "level": EXECUTED, "delegated": "yes" if record.delegated else "no"}


def load_kernels(path: Path) -> tuple[KernelLine, ...]:
    hint = "Give a *_kernels.csv that `etprof kernels run` or `etprof kernels log` wrote."
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
        columns = reader.fieldnames or ()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"{path} cannot be read as a table of kernels.", hint=hint) from error
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        raise StoreError(f"{path} is not a table of kernels: it has no column {missing[0]!r}.", hint=hint)
    try:
        return tuple(_load_line(row) for row in reader)
    except (TypeError, ValueError, AttributeError, csv.Error) as error:
        raise StoreError(f"{path}, line {reader.line_num}: {error}.", hint=hint) from error


def _load_line(guarded: dict[str, str]) -> KernelLine:
    row = {name: unguard_cell(guarded[name]) for name in COLUMNS}
    return KernelLine(
        level=row["level"],
        experiment=row["experiment"],
        identity=row["identity"],
        operator=row["operator"],
        category=row["category"],
        kernel=row["kernel"],
        instruction_class=row["instruction_class"],
        samples=int(row["samples"]) if row["samples"] else None,
        operator_samples=int(row["operator_samples"]) if row["operator_samples"] else None,
        extension=row["extension"],
        extension_executed=row["extension_executed"],
        reason=row["reason"],
    )
