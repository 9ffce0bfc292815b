"""Two threads of this machine: on two cores they gain, on one core they cannot."""

import os
from pathlib import Path

import pytest

from etprof.app.devices import DeviceRequest
from etprof.app.profiling import RunOptions, run_on
from etprof.app.reporting import analyze_measured
from etprof.core.findings import FindingKind
from etprof.core.plan import Experiment, Plan, Schedule
from etprof.core.scaling import StepEffect
from etprof.runner.toolchain import compiler_path
from parts import need
from scripted_device import Witness

_TRIES = 4


@pytest.mark.alone
@pytest.mark.exhaustive
def test_a_second_thread_gains_on_two_cores_and_nothing_on_one(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    need(len(cores) > 1, "there is one core only, or no affinity")
    both = Experiment("both", threads=(1, 2), runs=100, traced_runs=4)
    one = Experiment("one", threads=(1, 2), runs=100, traced_runs=4, cpu_affinity=(cores[0],))
    # Another program may need a core now and then, even on a quiet machine: such a block is run again.
    schedule = Schedule(blocks=6, max_blocks=12, time_budget_s=40.0, retries=4)
    for attempt in range(_TRIES):
        plan = Plan(toy_cnn / "toy_cnn_xnnpack_fp32.pte", tmp_path / str(attempt), (both, one), (), schedule)
        measured = run_on(DeviceRequest("local", runner="native"), plan, Witness(), RunOptions("test"))
        report = analyze_measured(measured).report
        missing = {f.message.partition(":")[0] for f in report.findings if f.kind is FindingKind.CORES_MISSING}
        disturbed = missing - {"one, 2 threads"}
        assert report.scaling is not None
        free, confined = report.scaling.curves
        if not disturbed and not free.undecided and not confined.undecided:
            break
    need(not disturbed, f"other programs had the cores of {'; '.join(sorted(disturbed))}")
    assert (free.best, free.undecided, free.limit) == (2, (), None), free
    assert confined.limit is not None
    assert confined.limit.effect in (StepEffect.LOSES, StepEffect.NOTHING), confined
    assert (confined.best, confined.undecided) == (1, ())
    assert [part.name for part in free.parts] == ["Matrix work", "Data movement", "Other operators", "Overhead"]
