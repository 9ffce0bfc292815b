"""Frequency, load and temperature of this machine, read from files that some systems do not have."""

import os
from pathlib import Path

import pytest

from etprof.runner import cpu_state
from etprof.runner.cpu_state import read_affinity, read_cpu_state, read_governor
from parts import need


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty /sys for the reader."""
    monkeypatch.setattr(cpu_state, "_CPU_ROOT", tmp_path / "cpu")
    monkeypatch.setattr(cpu_state, "_THERMAL_ROOT", tmp_path / "thermal")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_frequencies_are_those_of_the_cores_and_the_hottest_zone_counts(system: Path) -> None:
    for core, khz in ((0, 1_800_000), (1, 3_000_000)):
        write(system / f"cpu/cpu{core}/cpufreq/scaling_cur_freq", f"{khz}\n")
    write(system / "cpu/cpufreq/policy0/scaling_cur_freq", "5\n")
    for zone, millidegrees in ((0, 41_500), (1, 63_250)):
        write(system / f"thermal/thermal_zone{zone}/temp", f"{millidegrees}\n")
    state = read_cpu_state()
    assert (state.frequencies_khz, state.temperature_c) == ((1_800_000, 3_000_000), 63.25)


def test_what_the_system_does_not_have_stays_unknown(system: Path) -> None:
    state = read_cpu_state()
    assert (state.frequencies_khz, state.temperature_c, read_governor()) == ((), None, "")
    assert state.load_average is not None
    assert abs(state.load_average - os.getloadavg()[0]) < 1


def test_a_file_that_cannot_be_read_or_holds_no_number_is_left_out(system: Path) -> None:
    write(system / "thermal/thermal_zone0/temp", "nonsense\n")
    (system / "thermal/thermal_zone1/temp").mkdir(parents=True)
    write(system / "thermal/thermal_zone2/temp", "50000\n")
    assert read_cpu_state().temperature_c == 50.0


def test_the_governor_is_that_of_the_first_core(system: Path) -> None:
    write(system / "cpu/cpu0/cpufreq/scaling_governor", "schedutil\n")
    write(system / "cpu/cpu1/cpufreq/scaling_governor", "performance\n")
    assert read_governor() == "schedutil"


def test_the_cores_of_this_process_are_those_it_may_use() -> None:
    need(hasattr(os, "sched_setaffinity"), "core affinity is Linux's")
    allowed = os.sched_getaffinity(0)
    assert read_affinity() == sorted(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert read_affinity() == [min(allowed)]
    finally:
        os.sched_setaffinity(0, allowed)
