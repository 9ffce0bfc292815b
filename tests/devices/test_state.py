"""What disturbs a measurement, read from the answers of a phone, a laptop and this machine."""

import subprocess
from pathlib import Path

import pytest

from etprof.core.run import CpuState
from etprof.devices.state import SCRIPT, parse_state
from system_files import a_phone


def test_a_phones_state_is_read() -> None:
    state = parse_state(
        "governor 0 schedutil\ntemperature 41000 cpu-0-0-usr\ntemperature 38000 cpu-1-0-usr\n"
        "temperature 55000 gpuss-0-usr\nload 1.50\nbattery Current Battery Service state:\nbattery AC powered: false\n"
        "battery USB powered: true\nbattery level: 81\nbattery temperature: 315\nthermal 2\nsaver 0\n"
    )
    assert (state.temperature_c, state.load_average, state.governors) == (41.0, 1.5, ("schedutil",))
    assert (state.battery_percent, state.battery_c, state.on_battery) == (81, 31.5, False)
    assert (state.throttling, state.saves_power) == (2, False)


def test_what_is_not_reported_stays_unknown() -> None:
    assert parse_state("load 0.10\nsaver null\n") == CpuState(load_average=0.1)
    assert parse_state("") == CpuState()


def test_a_laptops_state_is_read() -> None:
    state = parse_state("battery level: 40\nsupply Discharging\ncooling 0\ncooling 3\nprofile low-power\n")
    assert (state.battery_percent, state.on_battery, state.throttling, state.saves_power) == (40, True, 3, True)


@pytest.mark.parametrize(
    ("said", "on_battery"),
    [
        ("battery AC powered: false\nbattery USB powered: false\n", True),
        ("battery AC powered: false\nbattery Wireless powered: true\n", False),
        ("supply Charging\n", False),
        ("supply Full\nsupply Discharging\n", True),
    ],
)
def test_a_device_is_on_battery_when_nothing_powers_it(said: str, on_battery: bool) -> None:
    assert parse_state(said).on_battery is on_battery


def test_a_value_that_is_not_a_number_is_left_out() -> None:
    state = parse_state("temperature unavailable cpu-thermal\ntemperature 30500 cpu-thermal\nload n/a\n")
    assert (state.temperature_c, state.load_average) == (30.5, None)


def test_a_phones_files_are_read_by_the_script(tmp_path: Path) -> None:
    script = f"etprof_root='{a_phone(tmp_path)}'\n{SCRIPT}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30)
    state = parse_state(done.stdout)
    assert (state.temperature_c, state.throttling) == (57.6, 2)
    assert state.governors == ("schedutil",) * 7
    assert state.frequencies_khz == {}, "around a block the cores are idle"


def test_the_script_is_understood_by_the_shell_of_this_machine() -> None:
    done = subprocess.run(["sh", "-c", SCRIPT], capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    load = parse_state(done.stdout).load_average
    assert load is not None
    assert load >= 0
