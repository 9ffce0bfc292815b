"""The kernels that were seen in operators as records with plain values, the same in files and for programs."""

from collections.abc import Iterator
from typing import NamedTuple

from etprof.core.kernel_evidence import KernelEvidence


class KernelRecord(NamedTuple):
    """One kernel that was seen in an operator; an operator without one has a record too."""

    experiment: str
    threads: int
    identity: str
    operator: str
    category: str
    data_type: str
    delegated: bool
    selected_type: str
    kernel: str
    instruction_class: str
    samples: int
    operator_samples: int
    waiting_samples: int
    extension: str
    extension_executed: str
    extension_share: float | None
    extension_share_low: float | None
    extension_share_high: float | None
    instructions: str
    reason: str


def list_kernels(evidence: KernelEvidence) -> Iterator[KernelRecord]:
    for row in evidence.operators:
        operator = KernelRecord(
            experiment=evidence.experiment,
            threads=evidence.threads,
            identity=str(row.identity),
            operator=row.name,
            category=row.category,
            data_type=row.data_type,
            delegated=row.delegated,
            selected_type=row.selected,
            kernel="",
            instruction_class="",
            samples=0,
            operator_samples=row.samples,
            waiting_samples=row.waiting,
            extension=evidence.extension,
            extension_executed=row.executed.value,
            extension_share=row.share.value if row.share else None,
            extension_share_low=row.share.low if row.share else None,
            extension_share_high=row.share.high if row.share else None,
            instructions=" ".join(f"{name}:{count}" for name, count in row.instructions.items()),
            reason=row.reason,
        )
        for kernel in row.kernels:
            yield operator._replace(
                kernel=kernel.name, instruction_class=kernel.instruction_class, samples=kernel.samples
            )
        if not row.kernels:
            yield operator
