"""What sampled variants show that contradicts what was asked for, each as a Finding."""

from collections.abc import Iterator, Sequence

from etprof.core.categories import COMPUTE
from etprof.core.findings import Finding, FindingKind
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels, group_by_reason
from etprof.core.units import format_percent

_DROPPED = 0.01
_MISSED = 0.20
_LISTED = 5


def find_kernel_doubts(evidences: Sequence[KernelEvidence]) -> tuple[Finding, ...]:
    return tuple(finding for evidence in evidences for finding in _doubts(evidence))


def _doubts(evidence: KernelEvidence) -> Iterator[Finding]:
    variant = evidence.variant.label
    compute = [row for row in evidence.operators if row.category in COMPUTE]
    if evidence.shown is False and evidence.stray:
        yield Finding(
            FindingKind.HIDDEN_BUT_EXECUTED,
            f"{variant}: {evidence.extension} was hidden, but {evidence.stray} of {evidence.samples} samples are in "
            "functions of ExecuTorch's libraries that use it.",
            "Do not use this variant as a baseline. `etprof kernels view` lists its kernels.",
        )
    if evidence.shown and evidence.advertised:
        yield from _not_executed(evidence, variant, compute)
        yield from _fallbacks(evidence, variant, compute)
    yield from _losses(evidence, variant)


def _not_executed(evidence: KernelEvidence, variant: str, compute: Sequence[OperatorKernels]) -> Iterator[Finding]:
    if not compute or any(row.executed is Executed.YES for row in compute):
        return
    if any(row.executed is Executed.NO for row in compute):
        known = evidence.compiled_in
        levels = "the libraries name no kernels" if known is None else f"its kernels compiled in: {len(known)}"
        selected = sum(bool(row.selected) for row in compute)
        yield Finding(
            FindingKind.NOT_EXECUTED,
            f"{variant}: the CPU has {evidence.extension} and it was not hidden, but no Convolution or GEMM operator "
            f"executed it; {levels}, and {selected} of {len(compute)} operators selected a packed type.",
            "Read the reason of each operator: `etprof kernels run` lists them.",
        )
    else:
        yield Finding(
            FindingKind.TOO_FEW_SAMPLES,
            f"{variant}: {sum(row.samples for row in compute)} samples of {len(compute)} operators are too few to tell "
            f"whether {evidence.extension} was executed.",
            "Sample longer: raise num_traced_runs, or schedule.blocks.",
        )


def _fallbacks(evidence: KernelEvidence, variant: str, compute: Sequence[OperatorKernels]) -> Iterator[Finding]:
    behind = [row for row in compute if row.executed is Executed.NO]
    if not behind or not any(row.executed is Executed.YES for row in compute):
        return
    groups = group_by_reason(behind)
    listed = "; ".join(_tell_group(rows) for rows in groups[:_LISTED])
    rest = sum(map(len, groups[_LISTED:]))
    more = f"; and {rest} more" if rest else ""
    yield Finding(
        FindingKind.FELL_BACK,
        f"{variant}: {len(behind)} of {len(compute)} Convolution/GEMM operators did not execute {evidence.extension} "
        f"while others did. {listed}{more}.",
        "Change the data type, the quantisation scheme or the layer, where the reason names it.",
    )


def _losses(evidence: KernelEvidence, variant: str) -> Iterator[Finding]:
    taken = evidence.samples + evidence.waiting
    if evidence.dropped > _DROPPED * max(taken, 1):
        yield Finding(
            FindingKind.SAMPLES_DROPPED,
            f"{variant}: {evidence.dropped} samples did not fit into the buffer.",
            "Sample fewer iterations, or give the runner a larger --sample_buffer.",
        )
    ticks = taken + evidence.overruns
    if ticks and evidence.overruns > _MISSED * ticks:
        yield Finding(
            FindingKind.SAMPLES_MISSED,
            f"{variant}: {format_percent(evidence.overruns / ticks)} of the timer's ticks passed while no thread ran.",
            "Use fewer threads than cores, and close other programs.",
        )


def _tell_group(rows: Sequence[OperatorKernels]) -> str:
    which = rows[0].name if len(rows) == 1 else f"{len(rows)} operators, such as {rows[0].name}"
    return f"{which} ({_main_class(rows[0])}): {rows[0].reason or 'reason unknown'}"


def _main_class(row: OperatorKernels) -> str:
    return row.kernels[0].instruction_class if row.kernels else "not sampled"
