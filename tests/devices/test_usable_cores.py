"""Cores that a process may use: by affinity, by what is online, and by the quota of its cgroups."""

import os
import subprocess
from pathlib import Path

import pytest

from etprof.devices.usable_cores import SCRIPT, count_usable_cores, parse_usable_cores
from parts import need
from system_files import write_files


def ask(root: Path) -> str:
    """What the script says where the system's files are those below `root`."""
    done = subprocess.run(["sh", "-c", f"etprof_root='{root}'\n{SCRIPT}"], capture_output=True, text=True, timeout=30)
    return done.stdout


def a_system(root: Path, files: dict[str, str], *, allowed: str = "0-7", online: str = "0-7") -> Path:
    return write_files(
        root,
        {
            "proc/self/status": f"Name:\tsh\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}\nMems_allowed_list:\t0",
            "sys/devices/system/cpu/online": online,
            "proc/self/cgroup": "0::/",
            **files,
        },
    )


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"sys/fs/cgroup/cpu.max": "max 100000"}, 8),
        ({"sys/fs/cgroup/cpu.max": "200000 100000"}, 2),
        ({"sys/fs/cgroup/cpu.max": "150000 100000"}, 1),
        ({"sys/fs/cgroup/cpu.max": "50000 100000"}, 1),
        ({"sys/fs/cgroup/cpu.max": "1600000 100000"}, 8),
        # The group itself has none, the one above it has.
        ({"proc/self/cgroup": "0::/user.slice/shell", "sys/fs/cgroup/user.slice/shell/cpu.max": "max 100000",
          "sys/fs/cgroup/user.slice/cpu.max": "300000 100000"}, 3),
        # The other group's quota is not ours.
        ({"proc/self/cgroup": "0::/a", "sys/fs/cgroup/b/cpu.max": "100000 100000"}, 8),
        ({"proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/docker/abc\n0::/",
          "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "400000",
          "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000"}, 4),
        # A container sees its own group at the mount, under a name it does not know.
        ({"proc/self/cgroup": "1:cpu:/docker/abc", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "250000",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000"}, 5),
        ({"proc/self/cgroup": "1:cpu:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 8),
    ],
)  # fmt: skip
def test_a_quota_limits_the_cores(files: dict[str, str], cores: int, tmp_path: Path) -> None:
    assert parse_usable_cores(ask(a_system(tmp_path, files))) == cores


def test_only_cores_that_are_online_and_allowed_count(tmp_path: Path) -> None:
    assert parse_usable_cores(ask(a_system(tmp_path, {}, allowed="0-7", online="0-4,6-7"))) == 7
    assert parse_usable_cores(ask(a_system(tmp_path, {}, allowed="2,4-5", online="0-4,6-7"))) == 2


def test_what_a_device_does_not_tell_is_unknown(tmp_path: Path) -> None:
    assert parse_usable_cores(ask(tmp_path)) is None
    assert parse_usable_cores("online 0-3\n") == 4


def test_this_machine_counts_what_its_processes_may_use() -> None:
    need(hasattr(os, "sched_setaffinity"), "core affinity is Linux's")
    allowed = os.sched_getaffinity(0)
    assert 1 <= count_usable_cores() <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert count_usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
