"""The kernels of an arm as CSV, one row per operator and kernel: written here, and read back here."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from etprof.core.errors import StoreError
from etprof.core.report import KernelEvidence, OperatorKernels
from etprof.core.samples import EXECUTED, KernelLine
from etprof.store.json_file import write_text

KERNELS_SUFFIX = "_kernels.csv"
# New columns are added behind these, and none is ever taken away.
COLUMNS = (
    "level", "experiment", "threads", "identity", "operator", "category", "data_type", "delegated", "selected_type",
    "kernel", "instruction_class", "samples", "operator_samples", "waiting_samples", "extension", "extension_executed",
    "extension_share", "extension_share_low", "extension_share_high", "instructions", "reason",
)  # fmt: skip


def save_kernels(path: Path, evidences: Iterable[KernelEvidence]) -> None:
    write_rows(path, (line for e in evidences for row in e.operators for line in _rows(e, row)))


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def _rows(evidence: KernelEvidence, row: OperatorKernels) -> Iterator[dict[str, object]]:
    share = row.share
    operator: dict[str, object] = {
        "level": EXECUTED,
        "experiment": evidence.experiment,
        "threads": evidence.threads,
        "identity": row.identity,
        "operator": row.name,
        "category": row.category,
        "data_type": row.data_type,
        "delegated": "yes" if row.delegated else "no",
        "selected_type": row.selected,
        "samples": 0,
        "operator_samples": row.samples,
        "waiting_samples": row.waiting,
        "extension": evidence.extension,
        "extension_executed": row.executed.value,
        "extension_share": f"{share.value:.4f}" if share else "",
        "extension_share_low": f"{share.low:.4f}" if share else "",
        "extension_share_high": f"{share.high:.4f}" if share else "",
        "instructions": " ".join(f"{name}:{count}" for name, count in row.instructions.items()),
        "reason": row.reason,
    }
    for kernel in row.kernels:
        yield {
            **operator,
            "kernel": kernel.name,
            "instruction_class": kernel.instruction_class,
            "samples": kernel.samples,
        }
    if not row.kernels:
        yield operator


def load_kernels(path: Path) -> tuple[KernelLine, ...]:
    hint = "Give a *_kernels.csv that `etprof kernels` or `etprof xnn-log` wrote."
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read as a table of kernels.", hint=hint) from error
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise StoreError(f"{path} is no table of kernels: it has no column {missing[0]!r}.", hint=hint)
    try:
        return tuple(_load_line(row) for row in reader)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{path}, line {reader.line_num}: {error}.", hint=hint) from error


def _load_line(row: dict[str, str]) -> KernelLine:
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
