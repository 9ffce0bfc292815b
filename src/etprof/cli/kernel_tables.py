"""What the samples of an arm prove, as lines and tables that are readable on a narrow terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from etprof.core.report import KernelEvidence, KernelUse, OperatorKernels

_COMPUTE = ("Convolution", "GEMM")
# Of other operators only those are shown that such a part of all samples fell into.
_NOTABLE = 0.01


def evidence_lines(evidence: "KernelEvidence") -> Iterator[str]:
    """The verdict, then the three levels apart: compiled in, selected, executed."""
    yield f"{evidence.experiment}, {evidence.threads} thread{'s' if evidence.threads != 1 else ''}: {evidence.verdict}"
    compute = [row for row in evidence.operators if row.category in _COMPUTE]
    known = evidence.compiled_in
    compiled = "not known, no kernel is named" if known is None else f"{len(known)} kernels by name"
    selected = sum(bool(row.selected) for row in compute)
    executed = sum(row.executed.value == "yes" for row in compute)
    yield f"  {evidence.extension} was {'shown' if evidence.shown else 'hidden'}; compiled in: {compiled}"
    yield f"  selected by a packed type: {selected} of {len(compute)} operators; executed: {executed} of {len(compute)}"
    sampled = f"threads sampled: {evidence.sampled_threads}, outside of operators: {evidence.outside}"
    yield f"  {evidence.samples} samples, {sampled}"
    yield f"  more while waiting: {evidence.waiting}, dropped: {evidence.dropped}, ticks missed: {evidence.overruns}"


def evidence_tables(evidence: "KernelEvidence", limit: int | None) -> Iterator[Table]:
    """Operators, compute first; then the kernels they executed, under the numbers that the first table gives them.

    Imported functions stand for themselves, so that the second table tells all.
    """
    rows = _choose(evidence, limit)
    kernels = _rank_kernels(rows)
    numbers = {kernel: number for number, (kernel, _) in enumerate(kernels, start=1)}
    if not kernels or any(row.name != kernel.name for row in rows for kernel in row.kernels):
        yield _operator_table(evidence, rows, numbers)
    if kernels:
        yield _kernel_table(kernels)


def _choose(evidence: "KernelEvidence", limit: int | None) -> "list[OperatorKernels]":
    rows = sorted(evidence.operators, key=lambda row: (row.category not in _COMPUTE, -row.samples))
    if limit is None:
        return rows
    least = _NOTABLE * evidence.samples
    return [row for row in rows if row.category in _COMPUTE or row.samples >= least][:limit]


def _operator_table(
    evidence: "KernelEvidence", rows: "Sequence[OperatorKernels]", numbers: dict[tuple[str, str], int]
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), caption_justify="left")
    table.add_column("operator")
    table.add_column(f"{evidence.extension} executed", max_width=9)
    table.add_column("share (95 %)", justify="right", no_wrap=True)
    table.add_column("samples", justify="right")
    table.add_column("kernels", max_width=10)
    counts = Counter(row.name for row in evidence.operators)
    for row in rows:
        # A name may come again in every delegate call.
        name = row.name if counts[row.name] == 1 else f"{row.name} [{row.identity}]"
        used = " ".join(str(numbers[_key(kernel)]) for kernel in row.kernels)
        table.add_row(escape(name), row.executed.value, _share(row), str(row.samples), used)
    if left_out := len(evidence.operators) - len(rows):
        table.caption = f"{left_out} more operators; --verbose shows all"
    return table


def _kernel_table(kernels: "Sequence[tuple[tuple[str, str], int]]") -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0))
    table.add_column("", justify="right")
    table.add_column("samples", justify="right")
    table.add_column("class")
    table.add_column("kernel", overflow="fold")
    for number, ((name, instruction_class), samples) in enumerate(kernels, start=1):
        table.add_row(str(number), str(samples), instruction_class, escape(name))
    return table


def _rank_kernels(rows: "Sequence[OperatorKernels]") -> list[tuple[tuple[str, str], int]]:
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for kernel in row.kernels:
            counts[_key(kernel)] += kernel.samples
    return counts.most_common()


def _key(kernel: "KernelUse") -> tuple[str, str]:
    return kernel.name, kernel.instruction_class


def reason_lines(evidence: "KernelEvidence") -> Iterator[str]:
    for row in evidence.operators:
        if row.reason:
            yield f"  {row.name}: {row.executed.value}: {row.reason}"


def _share(row: "OperatorKernels") -> str:
    share = row.share
    return f"{share.value:.0%} ({share.low * 100:.0f}-{share.high:.0%})" if share else ""
