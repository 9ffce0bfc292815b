"""What sampled kernels prove, for tests: operators with the kernels that were met in them, and a variant of these."""

from dataclasses import replace
from typing import Any

from etprof.core.estimates import Interval
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels
from etprof.core.operators import OperatorId
from etprof.core.rows import KernelUse


def sampled_operator(identity: str, name: str, *kernels: KernelUse, **changes: Any) -> OperatorKernels:
    """A delegated matrix product; without kernels it was not sampled."""
    samples = sum(kernel.samples for kernel in kernels)
    operator = OperatorKernels(
        identity=OperatorId(identity),
        name=name,
        category="GEMM",
        data_type="fp32",
        delegated=True,
        selected="PF32",
        samples=samples,
        waiting=3,
        kernels=kernels,
        instructions={kernel.instruction_class: kernel.samples for kernel in kernels},
        share=Interval(0.5, 0.4, 0.6) if kernels else None,
        executed=Executed.YES if kernels else Executed.UNSEEN,
    )
    return replace(operator, **changes)


def an_evidence(*operators: OperatorKernels, **changes: Any) -> KernelEvidence:
    """What one variant's samples prove of SME2, which was shown to it; samples are those of operators and outside."""
    evidence = KernelEvidence(
        experiment="on",
        threads=1,
        extension="SME2",
        shown=True,
        advertised=True,
        compiled_in=None,
        samples=sum(operator.samples for operator in operators) + changes.get("outside", 0),
        waiting=3,
        outside=0,
        stray=0,
        dropped=0,
        overruns=0,
        sampled_threads=1,
        operators=operators,
        share=None,
        verdict="SME2 executed: yes",
    )
    return replace(evidence, **changes)
