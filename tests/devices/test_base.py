"""What devices add to a block's result."""

from dataclasses import dataclass, replace
from pathlib import Path

from etprof.core.run import CpuState, DeviceInfo, Job, JobOutcome
from etprof.devices.base import merge_states
from etprof.pipeline import run_plan
from scripted_device import Witness, a_runnable_plan, scripted_device


@dataclass(frozen=True)
class ShakyDevice:
    """The scripted device, lost once before each block, with a battery."""

    platform: str = "linux"

    def describe(self) -> DeviceInfo:
        return scripted_device().describe()

    def run(self, job: Job) -> JobOutcome:
        battery = CpuState(battery_percent=50, on_battery=True)
        outcome = scripted_device().run(job)
        return replace(outcome, interruptions=("it was lost",), before=battery, after=battery)


def test_interruptions_and_the_devices_own_state_are_kept_with_the_block(tmp_path: Path) -> None:
    session = run_plan(a_runnable_plan(tmp_path, blocks=1), ShakyDevice(), Witness(), command="test")
    for result in session.results:
        assert result.retried == ("it was lost",)
        assert (result.cpu_before.battery_percent, result.cpu_after.on_battery) == (50, True)
        assert result.cpu_before.load_average == 0.1


def test_the_runners_own_words_win() -> None:
    said = CpuState(frequencies_khz=(1,), temperature_c=50.0)
    seen = CpuState(frequencies_khz=(2,), load_average=3.0, temperature_c=20.0, battery_percent=9)
    assert merge_states(said, seen) == CpuState((1,), 3.0, 50.0, battery_percent=9)
    assert merge_states(said, None) == said
