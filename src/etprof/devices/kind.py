"""A kind of device: how it is opened, described, found and cleaned, and what it is handed for that."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from etprof.core.digest import RunnerFiles
from etprof.core.plan import Experiment
from etprof.core.run import DeviceInfo, Job
from etprof.core.runtimes import EXECUTORCH
from etprof.devices.base import Device
from etprof.devices.shell import Progress


@dataclass(frozen=True)
class DeviceRequest:
    """What was asked for: `place` is what follows the kind of device and a colon, `bundle` a file with a runner for it.

    Unless it is to `wait` for its turn, a run is refused where another one is measuring.
    """

    kind: str
    place: str = ""
    experiments: tuple[Experiment, ...] = ()
    runner: str = "auto"
    folder: str = ""
    emulator: str = ""
    bundle: Path | None = None
    prepare: bool = False
    keep: bool = False
    wait: bool = True
    progress: Progress = field(default=lambda _: None)
    say_command: Progress = field(default=lambda _: None)

    @property
    def is_emulated(self) -> bool:
        """Whether the runner executes on an emulated CPU, so that its times mean nothing."""
        return self.kind == "emulated" or bool(self.emulator)


@dataclass(frozen=True)
class OpenDevice:
    """A device that is ready, and what a reader of the report has to know about how it was set up.

    `take_turn` is entered to measure, and gives how many seconds that took: others may be measuring there. `is_python`
    says that models run in a Python process, which can load operators that come with Python packages.
    """

    device: Device
    notes: tuple[str, ...] = ()
    runner_sha256: Mapping[str, str] = field(default_factory=dict)
    prepared: tuple[str, ...] = ()
    take_turn: Callable[[], AbstractContextManager[float]] = field(default=lambda: nullcontext(0.0))
    is_python: bool = False


@dataclass(frozen=True)
class HostRunner:
    """How a runner is started on this machine; `note` says why where it is not the native one."""

    command: tuple[str, ...]
    can_sample: bool
    note: str = ""
    files: RunnerFiles = field(default_factory=RunnerFiles)
    is_python: bool = False


class RunnerBundle(Protocol):
    """A runner with its libraries, unpacked on this machine."""

    @property
    def folder(self) -> Path: ...

    @property
    def files(self) -> RunnerFiles: ...

    @property
    def loader(self) -> str:
        """The file in its `lib` folder that starts programs."""

    @property
    def description(self) -> str: ...

    def command(self, folder: str) -> tuple[str, ...]:
        """Arguments that start it from the folder it was copied to."""


def note_bundle(request: DeviceRequest, bundle: RunnerBundle | None) -> tuple[str, ...]:
    """What a report says of a runner that was not built here."""
    return (
        (f"The runner is the one in {request.bundle.name}: {bundle.description}.",) if request.bundle and bundle else ()
    )


class DeviceParts(Protocol):
    """What devices need from the runners, which are a layer of their own."""

    @property
    def emulator_folder(self) -> Path:
        """Where an emulator is kept that is not installed in the system."""

    def describe_host(self) -> DeviceInfo: ...

    def find_host_runner(self, name: str, progress: Progress) -> HostRunner:
        """The runner of this machine with this name: auto, native or python."""

    def find_bundle(self, architecture: str, progress: Progress, archive: Path | None = None) -> RunnerBundle:
        """The bundle in this archive; without one, ours, which is built if necessary."""

    def find_runtime_runner(self, runtime: str) -> HostRunner:
        """What runs the programs of another runtime than ExecuTorch on this machine."""

    def named_runner_flags(self, runner: Path, job: Job) -> list[str]:
        """The job in the flags of a runner that an experiment names."""

    def named_runner_architecture(self, runner: Path) -> str | None: ...

    def read_features(self, architecture: str, cpuinfo: str, vector: Mapping[int, int]) -> tuple[str, ...]:
        """The features that Linux reports in /proc/cpuinfo or the auxiliary vector, in cpuinfo's names."""


@dataclass(frozen=True)
class DeviceKind:
    """What a module of this package defines as its `KIND`.

    `options` are those of the command line that it understands. `find` gives the places that need not be named, ""
    where the kind alone is one; a kind whose devices cannot be found has a `summary` of what it reaches. Only a kind
    that can leave something behind has `clean`, which says what it removed. `runtimes` are what it runs models with.
    """

    open: Callable[[DeviceRequest, DeviceParts], AbstractContextManager[OpenDevice]]
    describe: Callable[[DeviceRequest, DeviceParts], DeviceInfo]
    options: frozenset[str] = frozenset()
    find: Callable[[], Sequence[str]] = lambda: ()
    clean: Callable[[DeviceRequest], str] | None = None
    summary: str = ""
    runtimes: frozenset[str] = frozenset({EXECUTORCH})
