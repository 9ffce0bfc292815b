"""Many devices together, as data: what each offers, the jobs that are run on them, and how each job ended."""

from dataclasses import dataclass, field
from enum import Enum

from etprof.core.run import DeviceInfo

# A device that fails so often in a row is set aside.
MOST_FAILURES = 3


@dataclass(frozen=True)
class FleetDevice:
    """A device that a worker offers; `name` is the same whichever worker does.

    `address` is the worker's, `spool` the folder where its runs lie until they are fetched. `busy` says what it is
    doing, empty where that is nothing. A device that cannot be described is offered with `trouble`. With `exports` it
    is a CPU that exports models and measures nothing.
    """

    name: str
    address: str
    labels: frozenset[str]
    facts: str
    spool: str
    version: str
    busy: str = ""
    trouble: str = ""
    exports: bool = False


@dataclass(frozen=True)
class FileToSend:
    """A file that a plan needs: `place` is where it lies below the folder of a job on the worker."""

    place: str
    sha256: str
    size: int
    is_program: bool = False


@dataclass(frozen=True)
class FleetJob:
    """One run of one plan, or an export; `device` is empty where any that matches will do.

    `number` counts the repetitions from 1; `folder` is where the result belongs, below the folder of the whole.
    """

    id: str
    plan_name: str
    device: str
    number: int
    folder: str
    is_export: bool = False

    @property
    def label(self) -> str:
        return self.plan_name if self.number == 1 else f"{self.plan_name} ({self.number})"


class JobEnd(Enum):
    """How a worker answers an order."""

    DONE = "done"
    MISSING = "files are missing"
    UNFIT = "the plan does not fit the device"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class JobAnswer:
    """`missing` are digests of files to send first. A run that is done is fetched: `head` are its first bytes."""

    end: JobEnd
    reason: str = ""
    missing: tuple[str, ...] = ()
    size: int = 0
    sha256: str = ""
    head: bytes = field(default=b"", repr=False)
    started_s: float = 0.0
    ended_s: float = 0.0


@dataclass(frozen=True)
class JobProgress:
    """How far a run is; `left_s` is None where that is not known yet."""

    job: str
    device: str
    text: str
    done: int = 0
    total: int | None = None
    left_s: float | None = None


@dataclass(frozen=True)
class JobResult:
    """A job that is over: its run has arrived, or `reason` says why there is none."""

    job: FleetJob
    device: str
    reason: str = ""
    failed_blocks: int = 0

    @property
    def has_arrived(self) -> bool:
        return not self.reason


def list_labels(kind: str, info: DeviceInfo) -> frozenset[str]:
    """What a device can be chosen by: its kind, CPU features, architecture, chip, model and number of cores."""
    named = (info.soc, info.model, info.cpu_model)
    labels = {kind, info.architecture, f"{info.cpu_count}-cores", *info.features}
    labels |= {_as_label(name) for name in named if name}
    return frozenset(label for label in labels if label) | (frozenset() if info.times_are_real else {"emulated"})


def _as_label(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def describe_device(info: DeviceInfo) -> str:
    parts = (info.model, info.soc, f"{info.cpu_model} ({info.cpu_count} cores, {info.architecture})", info.system)
    return ", ".join(part for part in parts if part)


def fleet_name(device: str, host: str) -> str:
    """A device's name in a fleet: `local` and `emulated` are on every machine, so theirs say on which."""
    return device if ":" in device else f"{device}@{host}"
