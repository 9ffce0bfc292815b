"""Evidence from samples without a trace: the kernels stand for themselves, since no operator is known."""

from etprof.analysis.kernels.evidence import judge_share
from etprof.analysis.kernels.executed_code import describe_code
from etprof.analysis.kernels.instructions import UNKNOWN
from etprof.analysis.kernels.share_interval import estimate_share
from etprof.core.categories import categorize
from etprof.core.extensions import EXTENSIONS
from etprof.core.operators import FUNCTION, OperatorId
from etprof.core.report import Executed, Interval, KernelEvidence, OperatorKernels
from etprof.core.rows import KernelUse
from etprof.core.samples import KernelSamples
from etprof.core.units import format_percent


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
                identity=OperatorId.build(FUNCTION, len(rows)),
                name=kernel.name,
                category=categorize(kernel.name).name,
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
        return f"{label} executed: unknown, all samples were taken while waiting."
    also = f"; samples with neither machine code nor a known kernel name: {unknown}" if unknown else ""
    bounds = f"95 % interval {format_percent(share.low)} to {format_percent(share.high)}"
    interval = f"{format_percent(share.value)} of all samples, {bounds}{also}"
    if share.value > 0:
        return f"{label} executed: yes ({interval})."
    return f"{label} executed: not seen ({interval})."
