"""Time budgets and the time left, on a clock that a script moves and a device that takes as long as it is told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from etprof.app.pace import Clock, Pace
from etprof.core.plan import Schedule, Variant
from etprof.core.run import DeviceInfo, Job, JobOutcome
from etprof.devices.base import Device
from scripted_device import Witness, a_runnable_plan, run_scripted, scripted_device

OFF, ON = Variant("off", 1), Variant("on", 1)


@dataclass
class ScriptedClock:
    """Time passes when something sleeps or is told to take long."""

    now_s: float = 1000.0
    slept: list[float] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@dataclass(frozen=True)
class SlowDevice:
    """The scripted device, whose blocks take as many seconds of the clock as `seconds` says."""

    time: ScriptedClock
    seconds: Callable[[Job], float]
    device: Device = field(default_factory=scripted_device)

    @property
    def platform(self) -> str:
        return self.device.platform

    def describe(self) -> DeviceInfo:
        return self.device.describe()

    def run(self, job: Job) -> JobOutcome:
        self.time.now_s += self.seconds(job)
        return self.device.run(job)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("seconds", "set_up_s"),
    [
        (lambda job: 6.0, 0.0),
        # Blocks that get slower, as on a machine that warms up.
        (lambda job: 3.0 + 0.8 * job.block.index, 0.0),
        # One variant is five times as slow as the other.
        (lambda job: 10.0 if job.block.experiment.name == "off" else 2.0, 0.0),
        # The runner had to be built first.
        (lambda job: 4.0, 30.0),
    ],
)
def test_a_time_budget_holds_within_a_fifth(tmp_path: Path, seconds: Callable[[Job], float], set_up_s: float) -> None:
    time = ScriptedClock()
    asked_at = time.now_s - set_up_s
    plan = a_runnable_plan(tmp_path, blocks=30, max_blocks=60, time_budget_s=60.0)
    session = run_scripted(plan, SlowDevice(time, seconds), clock=time.clock, began_s=asked_at).session
    assert session.stop_reason == "the time budget of 60 s is spent"
    assert 48 <= time.now_s - asked_at <= 66


@pytest.mark.alone
def test_a_block_that_became_slow_ends_the_run_within_its_round(tmp_path: Path) -> None:
    time, witness = ScriptedClock(), Witness()
    slow = SlowDevice(time, lambda job: 14.0 if (job.block.experiment.name, job.block.index) == ("off", 4) else 4.0)
    plan = a_runnable_plan(tmp_path, blocks=9, time_budget_s=48.0)
    session = run_scripted(plan, slow, witness, clock=time.clock).session
    assert witness.started[-1] == "off_t1#4", "the other block of its round would end too late"
    assert session.stop_reason == "the time budget of 48 s is spent"


@pytest.mark.alone
def test_three_rounds_that_exceed_the_budget_are_run_and_announced(tmp_path: Path) -> None:
    time, witness = ScriptedClock(), Witness()
    plan = a_runnable_plan(tmp_path, blocks=6, time_budget_s=30.0)
    session = run_scripted(plan, SlowDevice(time, lambda job: 10.0), witness, clock=time.clock).session
    assert len(session.results) == 6
    assert witness.heard == ["3 rounds, the fewest that give an interval, exceed the time budget"]


@pytest.mark.alone
def test_the_time_left_counts_pauses_and_differs_by_less_than_a_fifth_from_what_it_was(tmp_path: Path) -> None:
    time, witness = ScriptedClock(), Witness()
    plan = a_runnable_plan(tmp_path, blocks=5, cooldown_s=2.0)
    ended: list[float] = []

    def seconds(job: Job) -> float:
        ended.append(time.now_s)
        return 6.0 if job.block.experiment.name == "off" else 3.0

    run_scripted(plan, SlowDevice(time, seconds), witness, clock=time.clock)
    assert len(witness.left) == 10
    for began_s, left in list(zip(ended[2:], witness.left[1:], strict=False)):
        assert left is not None
        assert left.expected_s == left.at_most_s == pytest.approx(time.now_s - began_s + 2.0, rel=0.2)
    assert witness.left[-1] is not None
    assert witness.left[-1].at_most_s == 0.0


@pytest.mark.alone
def test_rounds_that_may_be_added_count_for_the_longest_time_and_the_budget_bounds_both(tmp_path: Path) -> None:
    time, witness = ScriptedClock(), Witness()
    plan = a_runnable_plan(tmp_path, blocks=3, max_blocks=10, time_budget_s=100.0)
    run_scripted(plan, SlowDevice(time, lambda job: 4.0), witness, clock=time.clock)
    first = witness.left[0]
    assert first is not None
    assert (first.expected_s, first.at_most_s) == (20.0, 76.0)
    plan = a_runnable_plan(tmp_path, blocks=3, max_blocks=10, time_budget_s=30.0)
    witness = Witness()
    (tmp_path / "runs").rename(tmp_path / "before")
    run_scripted(plan, SlowDevice(time, lambda job: 4.0), witness, clock=time.clock)
    first = witness.left[0]
    assert first is not None
    assert (first.expected_s, first.at_most_s) == (20.0, 26.0)


@pytest.mark.alone
def test_no_retry_is_begun_that_would_end_too_late(tmp_path: Path) -> None:
    time, witness = ScriptedClock(), Witness()
    plan = a_runnable_plan(tmp_path, off="busy", blocks=9, retries=1, time_budget_s=80.0)
    run_scripted(plan, SlowDevice(time, lambda job: 4.0), witness, clock=time.clock)
    assert witness.retried
    assert time.now_s - 1000.0 <= 80.0


def test_a_variant_that_was_not_measured_yet_is_expected_to_take_as_long_as_the_slowest() -> None:
    time = ScriptedClock()
    pace = Pace(Schedule(time_budget_s=10.0), time.clock, time.now_s)
    assert pace.fits([OFF, ON])
    for took_s in (9.0, 2.0, 1.0, 3.0):
        pace.add(OFF, took_s)
    assert pace.predict_s([OFF, ON]) == 6.0, "the slowest of the latest three"
    assert pace.fits([OFF, ON])
    time.now_s += 5.0
    assert not pace.fits([OFF, ON])
    assert (pace.has_time_for(5.0), pace.has_time_for(5.1)) == (True, False)
