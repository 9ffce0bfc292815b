"""What threads were executing when they were sampled: one row per sample, code described once per address."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXECUTED = "executed"
REGISTERED = "registered, not executed"


@dataclass(frozen=True)
class CodeLocation:
    """An address that was sampled. `function` is where its function begins, -1 where the library does not say.

    Offsets are from the library's base; `library` is -1 outside of any. `code` starts with the instruction itself.
    `in_system` means that the thread had left for the operating system there, to wait as a rule.
    """

    library: int
    offset: int
    function: int
    symbol: str
    code: bytes
    in_system: bool


@dataclass(frozen=True, eq=False)
class KernelSamples:
    """`time_ns`, `location` and `thread` have one entry per sample; times are on the clock of the ETDump.

    `dropped` samples did not fit the buffer; `overruns` are ticks of the timer that passed while a thread was not
    running. `kernel_names` are the compute kernels that ExecuTorch's libraries name, whether they ran or not.
    """

    architecture: str
    interval_ns: int
    start_ns: int
    end_ns: int
    dropped: int
    overruns: int
    main_thread: int
    threads: tuple[int, ...]
    libraries: tuple[str, ...]
    kernel_names: tuple[str, ...]
    locations: tuple[CodeLocation, ...]
    time_ns: NDArray[np.int64]
    location: NDArray[np.uint32]
    thread: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True)
class KernelLine:
    """An operator and one of its kernels, as a row of a table. A kernel that was only registered has no samples."""

    level: str
    experiment: str
    identity: str
    operator: str
    category: str
    kernel: str
    instruction_class: str
    samples: int | None
    operator_samples: int | None
    extension: str
    extension_executed: str
    reason: str
