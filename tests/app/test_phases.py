"""A workload from a real run to its report: what the steps say adds up, and the folder says the same again."""

from pathlib import Path

import numpy as np
import pytest

from etprof.app.devices import DeviceRequest
from etprof.app.profiling import RunOptions, run_on
from etprof.app.reference_models import FP32
from etprof.app.reporting import analyze_measured
from etprof.app.runs import MeasuredRun, load_partial_run, load_run
from etprof.core.phases import Phases
from etprof.core.plan import Experiment, Pair, Plan, Schedule, Warmup
from etprof.core.units import NS_PER_MS
from etprof.core.workload import RANDOM, Phase, PhaseInput, Workload
from etprof.runner.toolchain import compiler_path
from parts import need
from scripted_device import Witness
from workload_builder import analyze

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> MeasuredRun:
    """Two variants that do the same: one step, then twelve."""
    need(compiler_path(), "there is no C++ compiler")
    numbers = PhaseInput(RANDOM, low=-1.0, high=1.0)
    workload = Workload((Phase("first", inputs=(numbers,), resets=True), Phase("rest", inputs=(numbers,), repeats=12)))
    experiments = tuple(Experiment(n, runs=4, traced_runs=3, warmup=Warmup(2, 2)) for n in ("one", "other"))
    folder = tmp_path_factory.mktemp("workload") / "run"
    schedule = Schedule(blocks=3, max_blocks=3, retries=0)
    plan = Plan(FP32.model, folder, experiments, (Pair("one", "other"),), schedule, workload=workload)
    return run_on(DeviceRequest("local", runner="native"), plan, Witness(), RunOptions("test"))


def phases_of(measured: MeasuredRun) -> Phases:
    phases = analyze_measured(measured).report.phases
    assert phases is not None
    return phases


def test_the_steps_of_every_sequence_add_up_to_its_latency_with_its_gaps(measured: MeasuredRun) -> None:
    run = load_run(measured.session.plan.output_root)
    for loaded in run.variants:
        assert sorted(loaded.steps) == [0, 1, 2]
        for result in loaded.results:
            steps = loaded.steps[result.index]
            assert steps.shape == (4, 13)
            assert (steps > 0).all()
            gaps = np.array(result.latency_ns) - steps.sum(axis=1)
            assert (gaps >= 0).all()


def test_the_phases_of_the_report_are_those_of_the_steps(measured: MeasuredRun) -> None:
    run = load_run(measured.session.plan.output_root)
    first, rest, whole = phases_of(measured).rows
    assert [(row.name, row.steps, row.method) for row in (first, rest)] == [
        ("first", 1, "forward"),
        ("rest", 12, "forward"),
    ]
    for loaded in run.variants:
        a, b, both = (row.find(loaded.variant) for row in (first, rest, whole))
        assert a
        assert b
        assert both
        every = np.concatenate(list(loaded.steps.values()))
        assert (a.mean_ms, b.mean_ms) == pytest.approx(
            (every[:, 0].mean() / NS_PER_MS, every[:, 1:].sum(axis=1).mean() / NS_PER_MS)
        )
        assert (a.mean_ms or 0) + (b.mean_ms or 0) + (both.gaps_ms or 0) == pytest.approx(both.mean_ms)
        assert b.curve is not None
        assert len(b.curve.median_ms) == 12
        # Two of three traced sequences of each block are steady.
        assert (a.traced_steps, b.traced_steps) == (6, 72)
        assert {row.name for row in a.operators} == {row.name for row in b.operators}
        assert sum(row.mean_ms for row in b.categories) == pytest.approx(
            sum(row.mean_ms for row in b.operators) + sum(row.mean_ms for row in b.categories if "overhead" in row.name)
        )


def test_the_folder_alone_gives_the_same_phases(measured: MeasuredRun) -> None:
    assert analyze(load_run(measured.session.plan.output_root)).phases == phases_of(measured)


def test_without_the_files_of_steps_the_phases_have_no_times(measured: MeasuredRun, tmp_path: Path) -> None:
    folder = measured.session.plan.output_root
    for name in ("manifest.json", "metrics.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    phases = analyze(load_partial_run(tmp_path)).phases
    assert phases is not None
    assert {each.mean_ms for row in phases.rows for each in row.variants} == {None}
