"""Evidence from samples without a trace: the kernels stand for themselves, since no operator is known."""

from collections import Counter
from collections.abc import Iterable

from etprof.analysis.kernels.evidence import judge_share, name_executed
from etprof.analysis.kernels.executed_code import ExecutedCode, describe_code
from etprof.analysis.kernels.instructions import UNKNOWN, pack_classes
from etprof.analysis.kernels.share_interval import estimate_share
from etprof.core.categories import categorize
from etprof.core.estimates import Interval
from etprof.core.extensions import EXTENSIONS, Extension
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels
from etprof.core.operators import FUNCTION, OperatorId
from etprof.core.rows import KernelUse
from etprof.core.samples import KernelSamples
from etprof.core.units import format_percent


def build_imported_evidence(name: str, samples: KernelSamples) -> KernelEvidence:
    """One row per function. Where its machine code could not be read, its class is what its name says.

    A recording does not say which features the CPU has: it is evidence of the best extension that was executed, or,
    where none was, that the best one of the architecture was not.
    """
    code = describe_code(samples)
    waits = code.waits[samples.location]
    counts = Counter(code.function[samples.location[~waits]].tolist())
    extension = _find_executed(samples.architecture, code, counts)
    is_hit = code.uses_any(pack_classes(samples.architecture, extension.classes))
    rows = tuple(
        _build_row(i, code, function, count, is_hit=bool(is_hit[function]))
        for i, (function, count) in enumerate(counts.most_common())
    )
    hits = sum(count for function, count in counts.items() if is_hit[function])
    unknown = sum(row.samples for row in rows if row.kernels[0].instruction_class == UNKNOWN)
    share = estimate_share(hits, counts.total())
    label = name_executed(extension, {row.name: row.kernels[0].instruction_class for row in rows})
    return KernelEvidence(
        experiment=name,
        threads=len(samples.threads),
        extension=label,
        shown=None,
        advertised=False,
        compiled_in=None,
        samples=int((~waits).sum()),
        waiting=int(waits.sum()),
        outside=0,
        stray=hits,
        dropped=samples.dropped,
        overruns=samples.overruns,
        sampled_threads=len(samples.threads),
        operators=rows,
        share=share,
        verdict=_write_verdict(label, share, unknown),
    )


def _find_executed(architecture: str, code: ExecutedCode, functions: Iterable[int]) -> Extension:
    executed = list(functions)
    known = EXTENSIONS[architecture]
    return next(
        (e for e in known if code.uses_any(pack_classes(architecture, e.classes[:1]))[executed].any()), known[0]
    )


def _build_row(number: int, code: ExecutedCode, function: int, count: int, *, is_hit: bool) -> OperatorKernels:
    kernel = KernelUse(code.names[function], code.classes[code.function_class[function]], count)
    share = estimate_share(count if is_hit else 0, count)
    return OperatorKernels(
        identity=OperatorId.build(FUNCTION, number),
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


def _write_verdict(label: str, share: Interval | None, unknown: int) -> str:
    if share is None:
        return f"{label} executed: unknown, all samples were taken while waiting."
    also = f"; samples with neither machine code nor a known kernel name: {unknown}" if unknown else ""
    bounds = f"95 % interval {format_percent(share.low)} to {format_percent(share.high)}"
    interval = f"{format_percent(share.value)} of all samples, {bounds}{also}"
    if share.value > 0:
        return f"{label} executed: yes ({interval})."
    return f"{label} executed: not seen ({interval})."
