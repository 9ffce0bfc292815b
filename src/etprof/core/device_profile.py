"""How fast a device executes a fixed set of operators: what `etprof devices calibrate` measures and people share."""

from collections.abc import Mapping
from dataclasses import dataclass

from etprof.core.estimates import Interval
from etprof.core.peaks import Peaks
from etprof.core.predictions import KernelCase

# The fixed set of operators. Raise it with every change of them: only times of the same set are compared.
PROBES = 1
# Bytes moved once and nothing computed: what operators are carried over with that no probe stands for.
MOVEMENT = "movement"


@dataclass(frozen=True)
class Extent:
    """The size of an operator as that of a matrix product: rows x depth times depth x columns.

    A convolution has a row for each output pixel and a depth of all that one output reads. An operator that multiplies
    nothing has a depth of 1.
    """

    rows: int
    depth: int
    columns: int


@dataclass(frozen=True)
class Level:
    """What the CPU shows to the kernels; with nothing hidden it is all that it has.

    `hide_isa` is what was asked to be hidden, `features_hidden` are the features that went with it.
    """

    name: str
    hide_isa: tuple[str, ...] = ()
    features_hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProbedOperator:
    """One operator of the fixed set; `probe` names it, `case` is what decides on its kernel.

    `group` is wider than the case: compute, elementwise, movement and so on; `is_delegated` is False for one that
    XNNPACK does not execute. `times_us` has its time on each level, by the level's name.
    """

    probe: str
    case: KernelCase
    group: str
    is_delegated: bool
    extent: Extent
    macs: int
    minimal_bytes: int
    times_us: Mapping[str, Interval]


@dataclass(frozen=True)
class ProfiledDevice:
    """What of a device's description says how fast it is, and nothing that says whose it is."""

    system: str
    architecture: str
    cpu_model: str
    cpu_count: int
    features: tuple[str, ...]
    soc: str = ""
    sme_vector_bits: int | None = None

    @property
    def label(self) -> str:
        name = ", ".join(part for part in (self.soc, self.cpu_model) if part)
        return f"{name or self.architecture} ({self.cpu_count} cores, {self.architecture})"

    def is_same_cpu(self, other: "ProfiledDevice") -> bool:
        def describe(device: ProfiledDevice) -> tuple[object, ...]:
            return device.architecture, device.cpu_model, device.soc, device.cpu_count, set(device.features)

        return describe(self) == describe(other)


@dataclass(frozen=True)
class DeviceProfile:
    """A calibrated device. Without `operators` it has its `peaks` only: they bound a forecast and make none.

    `probes` is the version of the set of operators. `load_average` is what else the system was busy with at the
    beginning, None where it does not tell.
    """

    device: ProfiledDevice
    calibrated_at: str
    probes: int = PROBES
    threads: int = 1
    executorch: str = ""
    levels: tuple[Level, ...] = ()
    operators: tuple[ProbedOperator, ...] = ()
    peaks: Peaks | None = None
    load_average: float | None = None

    def find_level(self, features_hidden: tuple[str, ...]) -> Level | None:
        return next((level for level in self.levels if set(level.features_hidden) == set(features_hidden)), None)
