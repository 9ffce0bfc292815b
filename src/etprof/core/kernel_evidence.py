"""What samples of the program counter prove about an instruction-set extension, by operator and over all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from etprof.core.estimates import Interval
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.rows import KernelUse


class Executed(Enum):
    """Whether an operator executed the extension, as far as its samples can tell."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "too few samples"
    UNSEEN = "not sampled"


@dataclass(frozen=True)
class OperatorKernels:
    """What threads executed while one operator ran.

    `selected` is the packed data type in the operator's name, which XNNPACK picks for KleidiAI's kernels. `samples`
    are those that executed something, `waiting` those that did not. `share` is the part of `samples` inside kernels of
    the extension. `reason` says why it was not executed where that is known.
    """

    identity: OperatorId
    name: str
    category: str
    data_type: str
    delegated: bool
    selected: str
    samples: int
    waiting: int
    kernels: tuple[KernelUse, ...]
    instructions: Mapping[str, int]
    share: Interval | None
    executed: Executed
    reason: str = ""


def group_by_reason(rows: Sequence[OperatorKernels]) -> list[list[OperatorKernels]]:
    """Operators with the same reason, the most samples first in each group and of the groups."""
    groups: dict[str, list[OperatorKernels]] = {}
    for row in sorted(rows, key=lambda row: -row.samples):
        groups.setdefault(row.reason, []).append(row)
    return sorted(groups.values(), key=lambda group: -sum(row.samples for row in group))


@dataclass(frozen=True)
class KernelEvidence:
    """What one variant's sampled blocks prove about an instruction-set extension, by operator and over all of them.

    `shown` is False where the extension was hidden, None where nothing tells. `compiled_in` are its kernels that the
    libraries name, None where they name none of any kind. `outside` samples fell into no operator; `stray` are samples
    in the extension's kernels wherever they fell. `share` is over the Convolution and GEMM operators.
    """

    experiment: str
    threads: int
    extension: str
    shown: bool | None
    advertised: bool
    compiled_in: tuple[str, ...] | None
    samples: int
    waiting: int
    outside: int
    stray: int
    dropped: int
    overruns: int
    sampled_threads: int
    operators: tuple[OperatorKernels, ...]
    share: Interval | None
    verdict: str

    @property
    def variant(self) -> Variant:
        return Variant(self.experiment, self.threads)
