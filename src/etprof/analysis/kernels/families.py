"""The family of kernels that an operator executed, from the samples taken in it."""

import re
from collections.abc import Sequence

from etprof.analysis.kernels.evidence import judge_share
from etprof.analysis.kernels.instructions import CLASSES, UNKNOWN
from etprof.analysis.kernels.share_interval import estimate_share
from etprof.core.kernel_evidence import Executed
from etprof.core.predictions import SME2
from etprof.core.rows import KernelUse

# The C library picks its own copies by the CPU, whatever the operator is.
_FOREIGN = re.compile(r"^(?!libexecutorch)lib|mem(?:cpy|move|set)")
_KERNEL = re.compile(r"kai_(?:kernel|run)_|xnn_.*ukernel")
# One or two samples at the edge of an operator may belong to the one before or after.
_FEWEST = 3


def find_family(kernels: Sequence[KernelUse]) -> str | None:
    """The most capable instructions that did some of the work; None where the samples do not decide."""
    own = [kernel for kernel in kernels if not _FOREIGN.search(kernel.name)]
    samples = sum(kernel.samples for kernel in own)
    for name in reversed(CLASSES["arm64"]):
        users = [kernel for kernel in own if kernel.instruction_class == name]
        hits = sum(kernel.samples for kernel in users)
        executed = judge_share(estimate_share(hits, samples))
        if executed is Executed.YES:
            if hits < _FEWEST or name == UNKNOWN:
                return None
            return SME2 if any("sme2" in kernel.name for kernel in users) else name
        if executed is not Executed.NO:
            return None
    return None


def list_functions(kernels: Sequence[KernelUse], family: str | None) -> tuple[str, ...]:
    """The named functions of the family, the most sampled first."""
    wanted = "SME" if family == SME2 else family
    return tuple(k.name for k in kernels if k.instruction_class == wanted and _KERNEL.match(k.name))
