"""Changes of a device during a run."""

from dataclasses import replace

import pytest

from builders import a_device_info, a_plan, a_result, a_session
from etprof.analysis.timing.device_changes import describe_cores, describe_device, find_device_changes, format_cores
from etprof.core.findings import FindingKind
from etprof.core.plan import Experiment
from etprof.core.run import Cluster, CpuState


def kinds(*states: CpuState) -> list[FindingKind]:
    results = tuple(a_result(index=i, cpu_before=state, cpu_after=state) for i, state in enumerate(states))
    return [finding.kind for finding in find_device_changes(a_session(results=results))]


def test_a_steady_device_gives_no_finding() -> None:
    steady = CpuState(governors=("schedutil",) * 8, throttling=0, on_battery=False, saves_power=False, temperature_c=40)
    assert kinds(steady, steady) == []


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (CpuState(throttling=0), CpuState(throttling=3), FindingKind.THROTTLED),
        (CpuState(on_battery=False), CpuState(on_battery=True), FindingKind.POWER_CHANGED),
        (CpuState(saves_power=False), CpuState(saves_power=True), FindingKind.POWER_SAVING_CHANGED),
        (CpuState(governors=("performance",)), CpuState(governors=("powersave",)), FindingKind.GOVERNOR_CHANGED),
        (CpuState(temperature_c=40.0), CpuState(temperature_c=60.0), FindingKind.TEMPERATURE_ROSE),
    ],
)
def test_a_change_becomes_a_finding(before: CpuState, after: CpuState, kind: FindingKind) -> None:
    assert kinds(before, after) == [kind]


def test_what_was_never_reported_is_no_change() -> None:
    assert kinds(CpuState(), CpuState(on_battery=True)) == []


def test_a_failed_block_is_no_witness() -> None:
    failed = a_result(index=1, error="crashed", cpu_before=CpuState(throttling=3))
    assert list(find_device_changes(a_session(results=(a_result(), failed)))) == []


def test_a_change_is_reported_with_its_values_in_order() -> None:
    states = (CpuState(on_battery=False, throttling=2), CpuState(on_battery=True), CpuState(on_battery=True))
    results = tuple(a_result(index=i, cpu_before=state) for i, state in enumerate(states))
    throttled, battery = find_device_changes(a_session(results=results))
    assert throttled.message == "The device throttled itself: level 2 in 1 of 6 readings."
    assert battery.message == "Battery power changed during the run: no, then yes."


def test_the_report_says_which_cores_were_used() -> None:
    pinned = Experiment("on", cpu_affinity=(4, 5, 6, 7), cpu_cluster="big")
    plan = replace(a_plan(), experiments=(pinned,), pairs=())
    session = a_session(plan, (a_result("on", cpu_affinity=(4, 5, 6, 7)),))
    assert describe_cores(session) == {"cores of on": "big cores 4-7"}


def test_a_devices_own_facts_are_reported() -> None:
    clusters = (Cluster("little", "Cortex-A520", (0, 1), 2_000_000), Cluster("big", "C1-Pro", (2,), None))
    assert describe_device(a_device_info(model="Phone", soc="Chip", clusters=clusters)) == {
        "device model": "Phone",
        "device SoC": "Chip",
        "device cores": "little: 0-1 (Cortex-A520, up to 2.00 GHz); big: 2 (C1-Pro)",
    }


def test_core_numbers_are_written_as_ranges() -> None:
    assert format_cores((7, 0, 4, 5, 6)) == "0, 4-7"
