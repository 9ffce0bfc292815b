"""A recorded run as a device whose rounds come by lot, and of which one variant does more work than was recorded."""

import json
import time
from dataclasses import dataclass, replace

import numpy as np

from etprof.core.run import DeviceInfo, Job, JobOutcome
from etprof.devices.recorded import RecordedDevice


@dataclass(frozen=True)
class SlowedDevice:
    """Answers block i of either variant with the same recorded round, so that what both suffered stays in both.

    A round is a recorded index and whether its two variants change places, so that nothing but the plan tells them
    apart. Each iteration of the variant named `slowed` is followed by a busy loop of `share` of its recorded time,
    clocked and added to it.
    """

    recording: RecordedDevice
    rounds: tuple[tuple[int, bool], ...]
    slowed: str = ""
    share: float = 0.0

    @property
    def platform(self) -> str:
        return "recorded"

    def describe(self) -> DeviceInfo:
        return self.recording.describe()

    def run(self, job: Job) -> JobOutcome:
        index, is_swapped = self.rounds[job.block.index % len(self.rounds)]
        experiment = job.block.experiment
        first, second = self.recording.session.plan.experiments
        if is_swapped:
            experiment = second if experiment.name == first.name else first
        outcome = self.recording.run(replace(job, block=replace(job.block, experiment=experiment, index=index)))
        if job.block.experiment.name == self.slowed:
            said = json.loads(job.result.read_text())
            said["latency_ns"] = [ns + spin(self.share * ns) for ns in said["latency_ns"]]
            job.result.write_text(json.dumps(said))
        return outcome


def draw_rounds(rng: np.random.Generator, recorded: int, wanted: int) -> tuple[tuple[int, bool], ...]:
    return tuple((int(i), bool(rng.integers(2))) for i in rng.integers(0, recorded, wanted))


def spin(ns: float) -> int:
    """Keeps this core busy for so long, and says how long it really was."""
    start = time.perf_counter_ns()
    while (spent := time.perf_counter_ns() - start) < ns:
        pass
    return spent
