"""What sampled arms show that contradicts what was asked for, each as a Finding."""

from collections.abc import Iterator, Sequence

from etprof.analysis.kernels import COMPUTE
from etprof.core.report import Executed, Finding, KernelEvidence, OperatorKernels
from etprof.core.units import format_percent

_DROPPED = 0.01
_MISSED = 0.20
_LISTED = 5


def find_kernel_doubts(evidences: Sequence[KernelEvidence]) -> tuple[Finding, ...]:
    return tuple(finding for evidence in evidences for finding in _doubts(evidence))


def _doubts(evidence: KernelEvidence) -> Iterator[Finding]:
    arm = f"{evidence.experiment}, {evidence.threads} thread{'s' if evidence.threads != 1 else ''}"
    compute = [row for row in evidence.operators if row.category in COMPUTE]
    if not evidence.shown and evidence.stray:
        yield Finding(
            "off arm executed the extension",
            f"{arm}: {evidence.extension} was hidden, but {evidence.stray} of {evidence.samples} samples met functions "
            "of ExecuTorch's libraries that use it.",
            "Do not use this arm as a baseline: hide the whole feature group, sme and sme2 together.",
        )
    if evidence.shown and evidence.advertised:
        yield from _not_executed(evidence, arm, compute)
        yield from _fallbacks(evidence, arm, compute)
    yield from _losses(evidence, arm)


def _not_executed(evidence: KernelEvidence, arm: str, compute: Sequence[OperatorKernels]) -> Iterator[Finding]:
    if not compute or any(row.executed is Executed.YES for row in compute):
        return
    if any(row.executed is Executed.NO for row in compute):
        known = evidence.compiled_in
        levels = "the libraries name no kernels" if known is None else f"kernels of it compiled in: {len(known)}"
        selected = sum(bool(row.selected) for row in compute)
        yield Finding(
            "advertised, not executed",
            f"{arm}: the CPU has {evidence.extension} and it was shown, but no Convolution or GEMM operator executed "
            f"it; {levels}, and {selected} of {len(compute)} operators selected a packed type.",
            "Read the reasons beside the operators: `etprof kernels` lists them.",
        )
    else:
        yield Finding(
            "too few samples",
            f"{arm}: {sum(row.samples for row in compute)} samples of {len(compute)} operators do not tell whether "
            f"{evidence.extension} was executed.",
            "Sample longer: raise num_traced_runs, or schedule.blocks.",
        )


def _fallbacks(evidence: KernelEvidence, arm: str, compute: Sequence[OperatorKernels]) -> Iterator[Finding]:
    behind = [row for row in compute if row.executed is Executed.NO]
    if not behind or not any(row.executed is Executed.YES for row in compute):
        return
    rows = sorted(behind, key=lambda row: -row.samples)
    listed = "; ".join(f"{row.name} ({_main_class(row)}): {row.reason or 'reason not known'}" for row in rows[:_LISTED])
    more = f"; and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    yield Finding(
        "fell back",
        f"{arm}: {len(rows)} of {len(compute)} Convolution/GEMM operators did not execute {evidence.extension} while "
        f"others did. {listed}{more}.",
        "Change the data type, the quantisation scheme or the layer, where the reason names it.",
    )


def _losses(evidence: KernelEvidence, arm: str) -> Iterator[Finding]:
    taken = evidence.samples + evidence.waiting
    if evidence.dropped > _DROPPED * max(taken, 1):
        yield Finding(
            "samples dropped",
            f"{arm}: {evidence.dropped} samples did not fit the buffer.",
            "Sample fewer iterations, or give the runner a larger --sample_buffer.",
        )
    ticks = taken + evidence.overruns
    if ticks and evidence.overruns > _MISSED * ticks:
        yield Finding(
            "samples missed",
            f"{arm}: {format_percent(evidence.overruns / ticks)} of the timer's ticks passed while no thread ran.",
            "Use fewer threads than cores, and close other programs.",
        )


def _main_class(row: OperatorKernels) -> str:
    return row.kernels[0].instruction_class if row.kernels else "nothing seen"
