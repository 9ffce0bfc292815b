"""The kinds of cores: read from what Linux reports, named, and found by name."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info
from etprof.core.errors import UsageError
from etprof.core.macos import parse_sysctls
from etprof.core.run import Cluster
from etprof.devices.core_types import (
    Core,
    build_clusters,
    count_performance_cores,
    parse_performance_levels,
    read_core_types,
    read_local_clusters,
    resolve_cluster,
)
from macos_text import M4_CORES
from parts import need
from scripted_device import a_runnable_plan, run_scripted, scripted_device


def test_two_kinds_of_cores_are_little_and_big() -> None:
    clusters = build_clusters([Core(i, "A", 400) for i in range(4)] + [Core(i, "B", 1024) for i in range(4, 8)])
    assert resolve_cluster("little", clusters) == (0, 1, 2, 3)
    assert resolve_cluster("big", clusters) == (4, 5, 6, 7)
    with pytest.raises(UsageError, match="no prime cores") as raised:
        resolve_cluster("prime", clusters)
    assert raised.value.hint.startswith("It has little and big cores.")


def test_equal_cores_have_no_cluster_names() -> None:
    clusters = build_clusters([Core(0, "A"), Core(1, "A")])
    assert clusters == (Cluster("", "A", (0, 1)),)
    with pytest.raises(UsageError, match="no big cores") as raised:
        resolve_cluster("big", clusters)
    assert "All its cores are alike." in raised.value.hint


def test_middle_cores_are_all_big() -> None:
    cores = [Core(0, "A", 100), Core(1, "B", 500), Core(2, "C", 700), Core(3, "D", 1024)]
    assert resolve_cluster("big", build_clusters(cores)) == (1, 2)


def test_cores_of_one_capacity_differ_by_their_highest_frequency() -> None:
    clusters = build_clusters([Core(0, "A", 1024, 3_000_000), Core(1, "A", 1024, 2_000_000)])
    assert [(c.name, c.cores, c.max_khz) for c in clusters] == [("little", (1,), 2_000_000), ("big", (0,), 3_000_000)]


def test_core_types_come_from_model_names_and_part_numbers() -> None:
    cpuinfo = (
        "processor : 0\nmodel name : Some CPU\n\n"
        "processor : 1\nCPU implementer : 0x41\nCPU part : 0xd8c\n\n"
        "processor : 2\nCPU implementer : 0x51\nCPU part : 0x001\n\n"
        "processor : 3\n\nHardware : a board\n"
    )
    assert read_core_types(cpuinfo) == {0: "Some CPU", 1: "C1-Ultra", 2: "implementer 0x51 part 0x001", 3: ""}


def test_the_clusters_of_this_machine_hold_each_core_once() -> None:
    need(Path("/proc/cpuinfo").exists(), "core types are read on Linux only")
    cores = [core for cluster in read_local_clusters() for core in cluster.cores]
    assert sorted(cores) == sorted(read_core_types(Path("/proc/cpuinfo").read_text()))
    assert len(cores) >= 1


def test_a_cluster_becomes_the_cores_it_stands_for_on_the_device(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, cpu_cluster="big") for e in plan.experiments))
    clusters = (Cluster("little", "A", (0,)), Cluster("big", "B", (1,)))
    device = replace(scripted_device(), info=a_device_info(clusters=clusters))
    session = run_scripted(plan, device).session
    assert {e.cpu_affinity for e in session.plan.experiments} == {(1,)}
    assert {result.cpu_affinity for result in session.results} == {(1,)}


def test_a_cluster_the_device_does_not_have_is_refused_before_anything_runs(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, cpu_cluster="prime") for e in plan.experiments))
    with pytest.raises(UsageError, match="no prime cores"):
        run_scripted(plan)
    assert not plan.output_root.exists()


def test_the_performance_levels_of_a_mac_are_little_and_big_cores() -> None:
    clusters = parse_performance_levels(parse_sysctls(M4_CORES))
    assert [(c.name, c.core_type, len(c.cores)) for c in clusters] == [
        ("little", "Efficiency", 6),
        ("big", "Performance", 4),
    ]
    assert count_performance_cores(clusters) == 4


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("", []),
        ("hw.perflevel0.physicalcpu: 8\n", [("", 8)]),
        ("hw.perflevel0.physicalcpu: many\nhw.perflevel1.physicalcpu: 2\n", [("", 2)]),
        (
            "".join(f"hw.perflevel{level}.physicalcpu: {level + 1}\n" for level in range(3)),
            [("little", 3), ("big", 2), ("prime", 1)],
        ),
    ],
)
def test_macs_with_one_or_three_levels_or_none_are_read(said: str, names: list[tuple[str, int]]) -> None:
    assert [(c.name, len(c.cores)) for c in parse_performance_levels(parse_sysctls(said))] == names
