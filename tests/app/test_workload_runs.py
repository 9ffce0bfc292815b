"""A run of a workload: what a runner gets and leaves, what makes a block fail, and what is refused before the first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etprof.analysis.history_rows import name_model
from etprof.app.gate import check_run, compare
from etprof.app.measuring import replay
from etprof.app.reporting import analyze
from etprof.core.errors import UsageError
from etprof.core.plan import TRACE, Plan
from etprof.core.workload import VALUE, Phase, PhaseInput, Workload
from etprof.runner.planned_workload import parse_workload
from etprof.store.session_file import load_session
from etprof.store.validate import find_problems
from etprof.traces.steps_file import read_steps
from scripted_device import Witness, a_runnable_plan, run_scripted

LONG = Workload(
    (Phase("first", inputs=(PhaseInput(VALUE, value=1),)), Phase("many", inputs=(PhaseInput(VALUE),), repeats=99))
)


def a_workload_plan(folder: Path, *, workload: Workload = LONG, blocks: int = 1, **behaviours: Any) -> Plan:
    return replace(a_runnable_plan(folder, blocks=blocks, **behaviours), inputs=(), workload=workload)


def test_steps_are_kept_with_their_block_and_the_workload_with_the_run(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path, blocks=2)
    session = run_scripted(plan).session
    assert [result.error for result in session.results] == [""] * 4
    for result in session.results:
        assert read_steps(plan.output_root / result.steps).shape == (5, 100)
    # The two variants run one program: their workload is there once.
    (kept,) = plan.output_root.glob("*/*.workload")
    assert kept.parent.name == "off"
    assert parse_workload(kept.read_bytes(), "").step_count == 100
    settled = session.programs[0].program.workload
    assert settled is not None
    assert [phase.method for phase in settled.phases] == ["forward", "forward"]
    assert session.programs[0].program.method == "forward"
    assert load_session(plan.output_root) == session
    assert find_problems(plan.output_root) == []
    (plan.output_root / session.results[0].steps).unlink()
    assert find_problems(plan.output_root) == ["off_t1, block 1: off/off_t1.steps is missing."]


@pytest.mark.parametrize(
    ("behave", "problem"),
    [
        ("short steps", "the times of 5 x 99 steps were kept, not of 5 x 100"),
        ("long steps", "the steps of a sequence take longer than it does"),
        # Of each of two sequences one step of the first phase and 64 of the second are traced.
        ("short trace", "the trace holds 129 inferences, not 130"),
    ],
)
def test_a_block_whose_steps_cannot_be_has_failed(tmp_path: Path, behave: str, problem: str) -> None:
    session = run_scripted(a_workload_plan(tmp_path, on=behave)).session
    failed = {result.experiment: result.error.partition("\n")[0] for result in session.results}
    assert failed == {"off": "", "on": problem}


def test_a_traced_experiment_has_no_times_of_steps(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path)
    traced = tuple(replace(each, mode=TRACE) for each in plan.experiments)
    session = run_scripted(replace(plan, experiments=traced)).session
    assert [(result.error, result.steps) for result in session.results] == [("", "")] * 2


def test_a_run_goes_on_with_the_same_workload_only(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path, on="interrupt", blocks=2)
    with pytest.raises(KeyboardInterrupt):
        run_scripted(plan)
    shorter = Workload((replace(LONG.phases[0], repeats=2), LONG.phases[1]))
    with pytest.raises(UsageError, match="since it began the plan and the input files changed"):
        run_scripted(replace(plan, workload=shorter), resume=True)
    well = tuple(replace(each, extra_args=()) for each in plan.experiments)
    with pytest.raises(UsageError, match="the plan changed"):
        run_scripted(replace(plan, experiments=well), resume=True)


def test_a_recorded_run_of_a_workload_is_replayed_with_its_steps(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path)
    run_scripted(plan)
    again = replay(plan.output_root, tmp_path / "again", Witness(), force=False, command="test").session
    assert [result.error for result in again.results] == ["", ""]
    assert read_steps(tmp_path / "again" / again.results[0].steps).shape == (5, 100)


def test_a_workload_that_does_not_fit_is_refused_before_the_first_block(tmp_path: Path) -> None:
    wrong = Workload((LONG.phases[0], replace(LONG.phases[1], method="decode")))
    plan, witness = a_workload_plan(tmp_path, workload=wrong), Witness()
    with pytest.raises(UsageError, match=r"has no method 'decode', which step 2 \(many 1 of 99\) names"):
        run_scripted(plan, witness=witness)
    assert (witness.started, plan.output_root.exists()) == ([], False)


def test_times_of_sequences_are_compared_with_those_of_equal_sequences_only(tmp_path: Path) -> None:
    runs = {}
    for name, workload in (("plain", None), ("long", LONG), ("again", LONG)):
        (tmp_path / name).mkdir()
        plan = replace(a_workload_plan(tmp_path / name, blocks=3), workload=workload)
        runs[name] = run_scripted(plan).session.plan.output_root
    reasons = [check_run(runs[name], runs["long"], 0.05).variants[0].reason for name in ("plain", "again")]
    assert reasons[0] == "the runs have different workloads"
    assert "workloads" not in reasons[1]
    differences = [each.message for each in compare(runs["plain"], runs["long"]).findings]
    assert any("The workload differs: none in plain" in message for message in differences), differences
    names = {name_model(load_session(run).programs[0]) for run in runs.values()}
    assert names == {"model", "model (first, many x 99)"}


def test_a_run_of_another_workload_is_left_out_of_an_analysis_and_said_so(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path)
    traced = tuple(replace(each, name=f"{each.name}_trace", mode=TRACE) for each in plan.experiments)
    run_scripted(replace(plan, workload=None))
    run_scripted(replace(plan, experiments=traced, pairs=()))
    report = analyze(plan.output_root).report
    assert [variant.experiment for variant in report.variants] == ["off_trace", "on_trace"]
    assert any(each.message.endswith("is left out: it ran another workload.") for each in report.findings)


def test_runners_that_run_no_workload_are_refused(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path)
    stock = tmp_path / "executor_runner"
    stock.write_bytes(b"Model executed successfully")
    named = (plan.experiments[1], replace(plan.experiments[1], name="stock", runner_path=stock))
    with pytest.raises(UsageError, match=r"stock: .* is a stock executor_runner, which runs no workload"):
        run_scripted(replace(plan, experiments=named, pairs=()))


def test_programs_that_are_compared_run_the_same_phases(tmp_path: Path) -> None:
    plan = a_workload_plan(tmp_path)
    off, on = plan.experiments
    other = Workload((LONG.phases[0],))
    with pytest.raises(UsageError, match="off and on cannot be compared: the phases of their workloads differ"):
        run_scripted(replace(plan, experiments=(off, replace(on, workload=other))))
    with pytest.raises(UsageError, match="only one of them runs a workload"):
        run_scripted(replace(plan, workload=None, experiments=(off, replace(on, workload=other))))
