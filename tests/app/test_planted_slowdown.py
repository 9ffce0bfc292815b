"""A run replayed from a recording: a busy loop planted in one variant is found, and nothing where there is none."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from etprof.app.reporting import analyze
from etprof.core.estimates import Verdict
from etprof.core.run import Job
from etprof.devices.recorded import RecordedDevice
from scripted_device import a_runnable_plan, run_scripted, scripted_device
from slowed_device import SlowedDevice, draw_rounds

ROUNDS = 10
SCHEDULES = 12


@pytest.mark.alone
def test_a_busy_loop_of_three_percent_is_found_in_a_recording_and_nothing_without_it(tmp_path: Path) -> None:
    noise = np.random.default_rng(3)

    def latency_ms(_: Job) -> float:
        return 2.0 * float(np.exp(noise.normal(0.0, 0.007)))

    plan = a_runnable_plan(tmp_path, blocks=ROUNDS, max_blocks=ROUNDS)
    plan = replace(plan, experiments=tuple(replace(e, hide_isa=()) for e in plan.experiments))
    session = run_scripted(plan, scripted_device(latency_ms)).session
    recording = RecordedDevice(plan.output_root, session)
    found = {share: Counter[Verdict]() for share in (0.0, 0.03)}
    for share, counts in found.items():
        lots = np.random.default_rng(4)
        for i in range(SCHEDULES):
            again = replace(
                plan, output_root=tmp_path / f"replay_{share}_{i}", schedule=replace(plan.schedule, blocks=6)
            )
            device = SlowedDevice(recording, draw_rounds(lots, ROUNDS, ROUNDS), "on", share)
            run_scripted(again, device)
            counts[analyze(again.output_root).report.comparisons[0].verdict] += 1
    assert found[0.03][Verdict.SLOWER] == SCHEDULES
    assert found[0.0][Verdict.SLOWER] + found[0.0][Verdict.FASTER] <= 1
