"""The kinds of cores a CPU has, from what Linux and macOS report, grouped into little, big and prime."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.core.macos import is_macos, read_sysctls
from etprof.core.plan import MOST_CORES
from etprof.core.run import Cluster

# The part numbers of Arm's own cores (implementer 0x41), as the kernel's cputype.h has them.
_ARM_PARTS = {
    0xD03: "Cortex-A53", 0xD04: "Cortex-A35", 0xD05: "Cortex-A55", 0xD07: "Cortex-A57", 0xD08: "Cortex-A72",
    0xD09: "Cortex-A73", 0xD0A: "Cortex-A75", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse-N1", 0xD0D: "Cortex-A77",
    0xD40: "Neoverse-V1", 0xD41: "Cortex-A78", 0xD44: "Cortex-X1", 0xD46: "Cortex-A510", 0xD47: "Cortex-A710",
    0xD48: "Cortex-X2", 0xD49: "Neoverse-N2", 0xD4B: "Cortex-A78C", 0xD4D: "Cortex-A715", 0xD4E: "Cortex-X3",
    0xD4F: "Neoverse-V2", 0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4", 0xD84: "Neoverse-V3",
    0xD85: "Cortex-X925", 0xD87: "Cortex-A725", 0xD8B: "C1-Pro", 0xD8C: "C1-Ultra", 0xD8E: "Neoverse-N3",
    0xD90: "C1-Premium",
}  # fmt: skip
_ARM = 0x41
# What macOS knows of the cores of a level, the fastest of which is 0.
_LEVEL = re.compile(r"hw\.perflevel(\d{1,2})\.physicalcpu")


@dataclass(frozen=True)
class Core:
    """What distinguishes a core from others: its capacity, its highest frequency and its type."""

    number: int
    core_type: str
    capacity: int | None = None
    max_khz: int | None = None


def read_core_types(cpuinfo: str) -> dict[int, str]:
    """The kind of each core that /proc/cpuinfo shows."""
    types: dict[int, str] = {}
    for part in cpuinfo.split("\n\n"):
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in part.splitlines())}
        if fields.get("processor", "").isdigit():
            types[int(fields["processor"])] = _core_type(fields)
    return types


def build_clusters(cores: Sequence[Core]) -> tuple[Cluster, ...]:
    """Cores that are alike, weakest first. Two kinds are little and big; of three or more the strongest is prime."""

    def rank(core: Core) -> tuple[int, int, str]:
        return core.capacity or 0, core.max_khz or 0, core.core_type

    groups = [list(group) for _, group in groupby(sorted(cores, key=rank), key=rank)]
    return tuple(
        Cluster(
            name=_cluster_name(index, len(groups)),
            core_type=group[0].core_type,
            cores=tuple(sorted(core.number for core in group)),
            max_khz=group[0].max_khz,
        )
        for index, group in enumerate(groups)
    )


def count_performance_cores(clusters: Sequence[Cluster]) -> int | None:
    """All but the little ones; None where all cores are alike."""
    return sum(len(cluster.cores) for cluster in clusters[1:]) or None


def resolve_cluster(name: str, clusters: Sequence[Cluster]) -> tuple[int, ...]:
    """The cores that a cluster's name stands for on this device."""
    cores = tuple(sorted(core for cluster in clusters if cluster.name == name for core in cluster.cores))
    if not cores:
        known = list(dict.fromkeys(cluster.name for cluster in clusters if cluster.name))
        has = f"It has {' and '.join(known)} cores." if known else "All its cores are alike."
        raise UsageError(f"cpu_affinity: this device has no {name} cores.", hint=f"{has} Or name cores by number.")
    return cores


def read_local_clusters() -> tuple[Cluster, ...]:
    """The kinds of cores of this machine; empty where the system does not tell them apart."""
    if is_macos():
        return parse_performance_levels(read_sysctls("hw"))
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return ()
    types = read_core_types(cpuinfo.read_text(encoding="utf-8"))
    folders = {core: Path(f"/sys/devices/system/cpu/cpu{core}") for core in types}
    return build_clusters(
        [
            Core(
                core, types[core], _read_number(path / "cpu_capacity"), _read_number(path / "cpufreq/cpuinfo_max_freq")
            )
            for core, path in folders.items()
        ]
    )


def parse_performance_levels(sysctls: Mapping[str, str]) -> tuple[Cluster, ...]:
    """The cores of macOS, which have no numbers there: they get some, the slowest first."""
    levels = {int(found[1]): said for name, said in sysctls.items() if (found := _LEVEL.fullmatch(name))}
    cores: list[Core] = []
    for level in sorted(levels, reverse=True):
        count = int(levels[level]) if levels[level].isdecimal() else 0
        kind = sysctls.get(f"hw.perflevel{level}.name", "")
        cores += [Core(len(cores) + i, kind, capacity=max(levels) - level + 1) for i in range(min(count, MOST_CORES))]
    return build_clusters(cores)


def _read_number(path: Path) -> int | None:
    return int(path.read_text(encoding="utf-8")) if path.exists() else None


def _cluster_name(index: int, count: int) -> str:
    if count == 1:
        return ""
    if index == 0:
        return "little"
    return "prime" if count > 2 and index == count - 1 else "big"


def _core_type(fields: Mapping[str, str]) -> str:
    if "model name" in fields:
        return fields["model name"]
    implementer, part = fields.get("CPU implementer", ""), fields.get("CPU part", "")
    try:
        known = _ARM_PARTS.get(int(part, 16)) if int(implementer, 16) == _ARM else None
    except ValueError:
        return ""
    return known or f"implementer {implementer} part {part}"
