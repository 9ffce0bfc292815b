"""Changes of a device during a run."""

import pytest

from builders import a_device_info, a_plan, a_result, a_session
from etprof.analysis.device_changes import describe_cores, describe_device, find_device_changes, format_cores
from etprof.core.plan import Experiment
from etprof.core.run import Cluster, CpuState


def kinds(*states: CpuState) -> list[str]:
    results = tuple(a_result(index=i, cpu_before=state, cpu_after=state) for i, state in enumerate(states))
    return [finding.kind for finding in find_device_changes(a_session(results=results))]


def test_a_steady_device_gives_no_finding() -> None:
    steady = CpuState(governors=("schedutil",) * 8, throttling=0, on_battery=False, saves_power=False, temperature_c=40)
    assert kinds(steady, steady) == []


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (CpuState(throttling=0), CpuState(throttling=3), "throttled"),
        (CpuState(on_battery=False), CpuState(on_battery=True), "power changed"),
        (CpuState(saves_power=False), CpuState(saves_power=True), "power saving changed"),
        (CpuState(governors=("performance",)), CpuState(governors=("powersave",)), "governor changed"),
        (CpuState(temperature_c=40.0), CpuState(temperature_c=60.0), "temperature rose"),
    ],
)
def test_a_change_becomes_a_finding(before: CpuState, after: CpuState, kind: str) -> None:
    assert kinds(before, after) == [kind]


def test_what_was_never_told_is_no_change() -> None:
    assert kinds(CpuState(), CpuState(on_battery=True)) == []


def test_the_report_says_which_cores_were_used() -> None:
    plan = a_plan()
    arm = Experiment("on", cpu_affinity=(4, 5, 6, 7), cpu_cluster="big")
    session = a_session(plan, (a_result("on", cpu_affinity=(4, 5, 6, 7)),))
    session = type(session)(**{**vars(session), "plan": type(plan)(**{**vars(plan), "experiments": (arm,)})})
    assert describe_cores(session) == {"cores of on": "big cores 4-7"}


def test_a_devices_own_facts_are_told() -> None:
    clusters = (Cluster("little", "Cortex-A520", (0, 1), 2_000_000), Cluster("big", "C1-Pro", (2,), None))
    assert describe_device(a_device_info(model="Phone", soc="Chip", clusters=clusters)) == {
        "device model": "Phone",
        "device SoC": "Chip",
        "device cores": "little: 0-1 (Cortex-A520, up to 2.00 GHz); big: 2 (C1-Pro)",
    }


def test_core_numbers_are_written_as_ranges() -> None:
    assert format_cores((7, 0, 4, 5, 6)) == "0, 4-7"
