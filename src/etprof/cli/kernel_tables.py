"""What the samples of an arm prove, as lines and tables for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from etprof.core.report import KernelEvidence, OperatorKernels


def evidence_lines(evidence: "KernelEvidence") -> Iterator[str]:
    """The verdict, then the three levels apart: compiled in, selected, executed."""
    yield f"{evidence.experiment}, {evidence.threads} thread{'s' if evidence.threads != 1 else ''}: {evidence.verdict}"
    compute = [row for row in evidence.operators if row.category in ("Convolution", "GEMM")]
    known = evidence.compiled_in
    compiled = "not known, the libraries name no kernels" if known is None else f"{len(known)} kernels by name"
    selected = sum(bool(row.selected) for row in compute)
    executed = sum(row.executed.value == "yes" for row in compute)
    seen = "shown" if evidence.shown else "hidden"
    yield (
        f"  {evidence.extension} {seen}; compiled in: {compiled}; selected: a packed type in {selected} of "
        f"{len(compute)} operators; executed: in {executed} of {len(compute)}"
    )
    yield (
        f"  {evidence.samples} samples; threads sampled: {evidence.sampled_threads}; "
        f"{evidence.waiting} more while waiting; {evidence.outside} outside of operators; "
        f"{evidence.dropped} dropped; {evidence.overruns} ticks missed"
    )


def evidence_table(evidence: "KernelEvidence", limit: int | None) -> Table:
    table = Table("operator", f"{evidence.extension} executed", title_justify="left")
    table.add_column("share (95 %)", justify="right")
    table.add_column("samples", justify="right")
    table.add_column("class")
    table.add_column("kernel")
    rows = sorted(evidence.operators, key=lambda row: -row.samples)
    for row in rows[:limit]:
        first = row.kernels[0] if row.kernels else None
        more = f" and {len(row.kernels) - 1} more" if len(row.kernels) > 1 else ""
        table.add_row(
            escape(f"{row.name} [{row.identity}]"),
            row.executed.value,
            _share(row),
            str(row.samples),
            first.instruction_class if first else "",
            escape(first.name + more) if first else "",
        )
    if limit is not None and len(rows) > limit:
        table.caption = f"{len(rows) - limit} more operators; --verbose shows all"
    return table


def reason_lines(evidence: "KernelEvidence") -> Iterator[str]:
    for row in evidence.operators:
        if row.reason:
            yield f"  {row.name}: {row.executed.value}: {row.reason}"


def _share(row: "OperatorKernels") -> str:
    share = row.share
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})" if share else ""
