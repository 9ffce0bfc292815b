"""What the samples of a variant prove, as lines and tables."""

from collections import Counter
from collections.abc import Iterator, Sequence

from etprof.core.categories import COMPUTE
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels, group_by_reason
from etprof.core.rows import KernelUse
from etprof.reports.sentences import shown_phrase
from etprof.reports.text_table import Column, TextTable

# Of other operators only those are shown that such a part of all samples fell into.
_NOTABLE = 0.01


def evidence_lines(evidence: KernelEvidence) -> Iterator[str]:
    """The verdict, then the three levels apart: compiled in, selected, executed."""
    yield f"{evidence.variant.label}: {evidence.verdict}"
    compute = [row for row in evidence.operators if row.category in COMPUTE]
    known = evidence.compiled_in
    compiled = "not known, no kernel is named" if known is None else f"{len(known)} kernels by name"
    selected = sum(bool(row.selected) for row in compute)
    executed = sum(row.executed is Executed.YES for row in compute)
    yield f"  {shown_phrase(evidence)}; compiled in: {compiled}"
    yield f"  selected by a packed type: {selected} of {len(compute)} operators; executed: {executed} of {len(compute)}"
    sampled = f"threads sampled: {evidence.sampled_threads}, outside of operators: {evidence.outside}"
    yield f"  {evidence.samples} active samples, {sampled}"
    yield f"  waiting: {evidence.waiting}, dropped: {evidence.dropped}, ticks missed: {evidence.overruns}"


def evidence_tables(evidence: KernelEvidence, limit: int | None) -> Iterator[TextTable]:
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


def _choose(evidence: KernelEvidence, limit: int | None) -> list[OperatorKernels]:
    rows = sorted(evidence.operators, key=lambda row: (row.category not in COMPUTE, -row.samples))
    if limit is None:
        return rows
    least = _NOTABLE * evidence.samples
    return [row for row in rows if row.category in COMPUTE or row.samples >= least][:limit]


def _operator_table(
    evidence: KernelEvidence, rows: Sequence[OperatorKernels], numbers: dict[tuple[str, str], int]
) -> TextTable:
    total = len(evidence.operators)
    count = f"{len(rows)} of {total}; --verbose shows all" if len(rows) < total else str(total)
    counts = Counter(row.name for row in evidence.operators)
    # A name may come again in every delegate call.
    names = [row.name if counts[row.name] == 1 else f"{row.name} [{row.identity}]" for row in rows]
    return TextTable(
        f"Operators ({count})",
        [
            Column("operator", names),
            Column(evidence.extension, [row.executed.value for row in rows]),
            Column("share (95 %)", [_share(row) for row in rows], 1, right=True),
            Column("samples", [str(row.samples) for row in rows], 3, right=True),
            Column("kernel", [" ".join(str(numbers[_key(k)]) for k in row.kernels) for row in rows], 2),
        ],
    )


def _kernel_table(kernels: Sequence[tuple[tuple[str, str], int]]) -> TextTable:
    return TextTable(
        "Kernels",
        [
            Column("#", [str(number) for number in range(1, len(kernels) + 1)], right=True),
            Column("samples", [str(samples) for _, samples in kernels], 1, right=True),
            Column("class", [instruction_class for (_, instruction_class), _ in kernels], 2),
            Column("kernel", [name for (name, _), _ in kernels]),
        ],
    )


def _rank_kernels(rows: Sequence[OperatorKernels]) -> list[tuple[tuple[str, str], int]]:
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for kernel in row.kernels:
            counts[_key(kernel)] += kernel.samples
    return counts.most_common()


def _key(kernel: KernelUse) -> tuple[str, str]:
    return kernel.name, kernel.instruction_class


def reason_lines(evidence: KernelEvidence) -> Iterator[str]:
    """A line for each reason, with the operator that has the most samples."""
    for executed in Executed:
        rows = [row for row in evidence.operators if row.reason and row.executed is executed]
        for first, *others in group_by_reason(rows):
            which = f"{len(others) + 1} operators, such as {first.name}" if others else first.name
            yield f"  {which}: {executed.value}: {first.reason}"


def _share(row: OperatorKernels) -> str:
    share = row.share
    return f"{share.value:.0%} ({share.low * 100:.0f}-{share.high:.0%})" if share else ""
