"""Evidence from samples without a trace: the kernels stand for themselves, since no operator is known."""

import re
from collections.abc import Sequence

from etprof.analysis.executed_code import describe_code
from etprof.analysis.extensions import EXTENSIONS
from etprof.analysis.instructions import UNKNOWN
from etprof.analysis.kernels import judge_share
from etprof.analysis.proportions import estimate_share
from etprof.core.report import Executed, Interval, KernelEvidence, KernelUse, OperatorKernels
from etprof.core.samples import KernelSamples

_KINDS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"igemm|imatmul|dwconv|conv2d"), "Convolution"),
    (re.compile(r"gemm|matmul"), "GEMM"),
)


def build_imported_evidence(name: str, samples: KernelSamples) -> KernelEvidence:
    """One row per function. Where its machine code could not be read, its class is what its name says."""
    code = describe_code(samples)
    extension = EXTENSIONS[samples.architecture][0]
    counts: dict[int, int] = {}
    waits = code.waits[samples.location]
    for function in code.function[samples.location[~waits]].tolist():
        counts[function] = counts.get(function, 0) + 1
    rows: list[OperatorKernels] = []
    for function, count in sorted(counts.items(), key=lambda item: -item[1]):
        kernel = KernelUse(code.names[function], code.classes[code.function_class[function]], count)
        share = estimate_share(count if kernel.instruction_class in extension.classes else 0, count)
        rows.append(
            OperatorKernels(
                identity=f"f{len(rows)}",
                name=kernel.name,
                category=next((kind for pattern, kind in _KINDS if pattern.search(kernel.name)), "Other"),
                data_type="",
                delegated=True,
                selected="",
                samples=count,
                waiting=0,
                kernels=(kernel,),
                instructions={kernel.instruction_class: count},
                share=share,
                executed=Executed.UNCLEAR if kernel.instruction_class == UNKNOWN else judge_share(share),
            )
        )
    hits = sum(row.samples for row in rows if row.kernels[0].instruction_class in extension.classes)
    unknown = sum(row.samples for row in rows if row.kernels[0].instruction_class == UNKNOWN)
    share = estimate_share(hits, sum(row.samples for row in rows))
    return KernelEvidence(
        experiment=name,
        threads=len(samples.threads),
        extension=extension.label,
        shown=True,
        advertised=False,
        compiled_in=None,
        samples=int((~waits).sum()),
        waiting=int(waits.sum()),
        outside=0,
        stray=hits,
        dropped=samples.dropped,
        overruns=samples.overruns,
        sampled_threads=len(samples.threads),
        operators=tuple(rows),
        share=share,
        verdict=_write_verdict(extension.label, share, unknown),
    )


def _write_verdict(label: str, share: Interval | None, unknown: int) -> str:
    if share is None:
        return f"{label} executed: not known, every sample was taken while waiting."
    also = f"; {unknown} samples have neither a telling name nor machine code" if unknown else ""
    interval = f"{share.value:.1%} of all samples, 95 % interval {share.low:.1%} to {share.high:.1%}{also}"
    if share.value > 0:
        return f"{label} executed: yes ({interval})."
    return f"{label} executed: not seen ({interval})."
