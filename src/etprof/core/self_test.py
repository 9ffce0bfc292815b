"""What a self-test does and finds: blocks of a reference model on a device, and whether each part of the work works."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from etprof.core.extensions import Extension
from etprof.core.loaded_run import Outputs
from etprof.core.run import DeviceInfo, RunnerResult
from etprof.core.samples import KernelSamples
from etprof.core.trace import Trace


class Outcome(Enum):
    PASS = "pass"
    FAIL = "fail"
    NOT_HERE = "not here"


@dataclass(frozen=True)
class SelfCheck:
    """One line: what was tried, how it ended, and what to do where it failed."""

    name: str
    outcome: Outcome
    found: str
    hint: str = ""


@dataclass(frozen=True)
class SelfTest:
    """`info` is what the device says of itself, None where it could not be opened; `device` is how it was named."""

    device: str
    info: DeviceInfo | None
    versions: Mapping[str, str]
    started_at: str
    seconds: float
    checks: tuple[SelfCheck, ...]

    @property
    def passed(self) -> bool:
        return all(check.outcome is not Outcome.FAIL for check in self.checks)


@dataclass(frozen=True, eq=False)
class TriedBlock:
    """What one block of the reference model left; `problem` says why it failed, and is empty where it did not."""

    problem: str
    duration_s: float
    result: RunnerResult
    outputs: Outputs = ()
    trace: Trace | None = None
    samples: KernelSamples | None = None


@dataclass(frozen=True, eq=False)
class TriedDevice:
    """What the checks judge: the blocks of a device, with its best extension shown and hidden.

    `reported` are the features that the operating system reports for certain. `expected` are the outputs of the eager
    model, which correct ones match by `lowest_snr_db`. Without an extension nothing is `hidden`; without a `python`
    block, `no_python` says why.
    """

    info: DeviceInfo
    reported: tuple[str, ...]
    extension: Extension | None
    expected: Outputs
    lowest_snr_db: float
    model_bytes: int
    shown: TriedBlock
    hidden: TriedBlock | None
    python: TriedBlock | None = None
    no_python: str = ""
