"""Two plans that share a folder: latency from the timing run, kernels from the trace run, and every run kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.reporting import analyze, analyze_measured, write_report
from etprof.app.runs import list_runs, load_partial_run, validate_run
from etprof.cli.main import main
from etprof.core.findings import FindingKind
from etprof.core.plan import TIMING, TRACE, Plan
from etprof.store.earlier_runs import list_earlier
from etprof.store.session_file import load_session
from program_builder import build_program
from scripted_device import a_runnable_plan, run_scripted, scripted_device


def traced(plan: Plan, suffix: str = "_trace") -> Plan:
    """The same experiments in trace mode, under names of their own or the same ones."""
    experiments = tuple(replace(e, name=e.name + suffix, mode=TRACE) for e in plan.experiments)
    pairs = tuple(replace(p, baseline=p.baseline + suffix, candidate=p.candidate + suffix) for p in plan.pairs)
    return replace(plan, experiments=experiments, pairs=pairs)


def messages(folder: Path) -> list[str]:
    return [f.message for f in analyze(folder).report.findings if f.kind is FindingKind.NOTE]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return a_runnable_plan(tmp_path, blocks=1)


@pytest.mark.parametrize("trace_first", [False, True])
def test_one_report_is_about_both_and_says_what_is_from_where(plan: Plan, trace_first: bool) -> None:
    plans = [traced(plan), plan] if trace_first else [plan, traced(plan)]
    for each in plans:
        measured = run_scripted(each)
        analysis = analyze_measured(measured)
    loaded = analyze(plan.output_root)
    for report in (analysis.report, loaded.report):
        assert {v.experiment: v.latency is not None for v in report.variants} == {
            "off": True, "on": True, "off_trace": False, "on_trace": False,
        }  # fmt: skip
        assert [c.title for c in report.comparisons] == ["on against off (1 thread)"], "what was timed"
    timing, tracing = (load_times(loaded.run.sessions, mode) for mode in (TIMING, TRACE))
    assert messages(plan.output_root) == [
        f"Latency is from the run of {timing} (off, on); kernels are from the run of {tracing} (off_trace, on_trace)."
    ]
    write_report(loaded)
    assert validate_run(plan.output_root, deep=True) == []
    assert list((plan.output_root / "off").glob("off_t1*.etdump"))
    assert list((plan.output_root / "off_trace").glob("off_trace_t1*.etdump"))
    assert load_partial_run(plan.output_root).session.plan.experiments[0].mode == TIMING


def load_times(sessions: object, mode: str) -> str:
    assert isinstance(sessions, tuple)
    (found,) = (each.started_at for each in sessions if each.plan.experiments[0].mode == mode)
    return str(found)


def test_experiments_of_the_same_names_are_told_apart_by_their_mode(plan: Plan) -> None:
    run_scripted(plan)
    run_scripted(traced(plan, suffix=""))
    report = analyze(plan.output_root).report
    assert [(v.experiment, v.latency is not None) for v in report.variants] == [
        ("off_timing", True), ("on_timing", True), ("off", False), ("on", False),
    ]  # fmt: skip
    assert [c.title for c in report.comparisons] == ["on_timing against off_timing (1 thread)"]


def test_a_repeated_plan_keeps_the_earlier_run_and_validate_lists_it(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run_scripted(plan).session
    write_report(analyze(plan.output_root))
    run_scripted(traced(plan))
    second = run_scripted(plan, scripted_device(lambda _: 8.0)).session
    (earlier,) = list_earlier(plan.output_root)
    assert earlier.session.results == first.results
    report = analyze(plan.output_root).report
    assert [v.latency.median_ms > 7 for v in report.variants if v.latency] == [True, True], "the newest counts"
    assert load_session(plan.output_root).results == second.results
    write_report(analyze(plan.output_root))
    assert main(["validate", str(plan.output_root)]) == 0
    newest, beside, older, verdict = capsys.readouterr().out.splitlines()
    assert newest == f"newest run: {second.started_at}, timing: off, on (2 blocks)"
    assert beside.startswith("earlier run: ")
    assert "trace: off_trace, on_trace (2 blocks), in manifest." in beside
    assert older.startswith(f"earlier run: {first.started_at}, timing: off, on (2 blocks), in earlier/")
    assert "every expected file is there" in verdict
    (earlier.folder / "on/on_t1.etdump").unlink()
    assert validate_run(plan.output_root, deep=False) == [
        f"earlier/{earlier.folder.name}: on_t1, block 1: on/on_t1.etdump is missing."
    ]


def test_a_run_of_another_model_is_left_out_and_said_so(plan: Plan) -> None:
    run_scripted(plan)
    other = plan.model.with_name("other.pte")
    other.write_bytes(build_program() + b"\0")
    run_scripted(replace(traced(plan), model=other))
    report = analyze(plan.output_root).report
    assert [v.experiment for v in report.variants] == ["off_trace", "on_trace"]
    started = list_runs(plan.output_root)[1].split()[2].rstrip(",")
    assert f"The run of {started} is left out: it measured another model file, model.pte." in messages(plan.output_root)


def test_one_run_alone_says_nothing_of_others(plan: Plan) -> None:
    run_scripted(plan)
    assert list_runs(plan.output_root) == []
    assert messages(plan.output_root) == []
