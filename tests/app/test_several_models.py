"""A plan with several models: interleaved blocks, a record of each program, and accuracy beside latency."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.comparisons import build_comparisons
from etprof.analysis.report import RunAnalysis
from etprof.app.history import build_trends
from etprof.app.measuring import replay
from etprof.app.reporting import analyze, analyze_measured, check_model
from etprof.app.runs import load_run, validate_run
from etprof.core.errors import UsageError
from etprof.core.estimates import Verdict
from etprof.core.findings import FindingKind
from etprof.core.operators import OperatorId
from etprof.core.plan import Plan, Variant
from etprof.core.program_use import ProgramUse
from etprof.core.run import Job
from etprof.reports import FORMATS
from etprof.store.session_file import load_session, save_session
from local_shell import LocalShell
from model_files import a_device_for_models, a_model_file, a_plan_of_models
from scripted_device import Witness, run_scripted
from scripted_remote import count_pushes, scripted_remote

TIMES = {"old": 4.0, "new": 2.0, "third": 4.0}
# One byte of eight differs by one: 49.06 dB.
CLOSE = "eager__`"
OLD, NEW = Variant("old", 1), Variant("new", 1)


def a_plan(folder: Path) -> Plan:
    models = {name: a_model_file(folder / name, "net") for name in ("old", "new")}
    return a_plan_of_models(models, folder / "run", new=CLOSE)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return a_plan(tmp_path)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> RunAnalysis:
    """Of a run that no test changes."""
    return measure(a_plan(tmp_path_factory.mktemp("two")))


def measure(plan: Plan, **times: float) -> RunAnalysis:
    return analyze_measured(run_scripted(plan, a_device_for_models({**TIMES, **times})))


def program_of(analysis: RunAnalysis, variant: Variant) -> ProgramUse:
    program = analysis.report.of(variant).program
    assert program is not None
    return program


def test_blocks_are_interleaved_and_each_runs_its_own_model_with_its_own_inputs(plan: Plan) -> None:
    jobs: list[Job] = []
    witness = Witness()
    run_scripted(replace(plan, schedule=replace(plan.schedule, blocks=2, max_blocks=2)),
                 a_device_for_models(TIMES, jobs.append), witness)  # fmt: skip
    assert witness.started == ["old_t1#0", "new_t1#0", "new_t1#1", "old_t1#1"]
    for job in jobs:
        assert job.model.parent.name == job.inputs[0].parent.name == job.block.experiment.name


def test_the_session_has_a_record_of_each_program_and_is_read_back_as_it_was(analysis: RunAnalysis) -> None:
    session, folder = analysis.run.session, analysis.run.folder
    assert [each.experiments for each in session.programs] == [("old",), ("new",)]
    assert len({each.model_sha256 for each in session.programs}) == 2
    assert session.program(NEW).program.model == session.plan.experiment("new").model
    assert session.program(NEW).program.method == "forward"
    assert load_session(folder) == session
    assert validate_run(folder, deep=True) == []


def test_experiments_of_one_program_share_its_record(plan: Plan) -> None:
    twin = replace(plan.experiments[0], name="twin")
    session = run_scripted(
        replace(plan, experiments=(*plan.experiments, twin)), a_device_for_models({**TIMES, "twin": 2.0})
    ).session
    assert [each.experiments for each in session.programs] == [("old", "twin"), ("new",)]


def test_a_model_that_changed_since_is_named_and_another_one_is_refused(plan: Plan, tmp_path: Path) -> None:
    run_scripted(plan, a_device_for_models(TIMES))
    new = plan.experiment("new").model
    assert new is not None
    check_model(load_run(plan.output_root), new)
    new.write_bytes(b"another")
    (problem,) = validate_run(plan.output_root, deep=False)
    assert problem.startswith(f"{new} is not the file that was measured")
    with pytest.raises(UsageError, match="is not the model that"):
        check_model(load_run(plan.output_root), new)


def test_a_reference_that_is_missing_or_damaged_is_a_problem_of_the_run(plan: Plan) -> None:
    run_scripted(replace(plan, schedule=replace(plan.schedule, blocks=1, max_blocks=1)), a_device_for_models(TIMES))
    file = plan.output_root / "new/new.reference/output_0.bin"
    file.write_bytes(b"nonsense")
    (problem,) = validate_run(plan.output_root, deep=False)
    assert problem.startswith("reference of new: new/new.reference/output_0.bin is not what was written there")
    file.unlink()
    assert validate_run(plan.output_root, deep=False) == [
        "reference of new: new/new.reference/output_0.bin is missing."
    ]


def test_latency_and_accuracy_stand_beside_each_other_in_every_format(analysis: RunAnalysis) -> None:
    report = analysis.report
    (comparison,) = report.comparisons
    assert comparison.verdict is Verdict.FASTER
    assert (comparison.same_program, comparison.output_difference) == (False, None)
    assert program_of(analysis, OLD).exact
    for name in ("md", "html", "console", "json", "csv"):
        text = FORMATS[name].render(report)
        assert "net.pte" in text
        assert "49.0" in text or "49.1 dB" in text, name
    for name in ("md", "html", "console"):
        assert "SNR against the eager model: old exact, new 49.1 dB." in " ".join(FORMATS[name].render(report).split())


def test_other_outputs_of_another_model_are_no_finding_and_those_of_the_same_are(
    analysis: RunAnalysis, plan: Plan
) -> None:
    kinds = {finding.kind for finding in analysis.report.findings}
    assert FindingKind.OUTPUTS_DIFFER not in kinds
    same = tuple(replace(each, model=None) for each in plan.experiments)
    hidden = (replace(same[0], hide_isa=("avx512",)), same[1])
    other = measure(replace(plan, experiments=hidden, output_root=plan.output_root.with_name("same"))).report
    assert FindingKind.OUTPUTS_DIFFER in {finding.kind for finding in other.findings}
    assert "SNR" not in FORMATS["md"].render(other)


def test_an_export_without_the_outputs_of_the_eager_model_leaves_a_doubt(plan: Plan, tmp_path: Path) -> None:
    bare = a_model_file(tmp_path / "bare", "bare", eager="")
    experiments = (plan.experiments[0], replace(plan.experiments[1], model=bare))
    report = measure(replace(plan, experiments=experiments)).report
    (doubt,) = [finding for finding in report.findings if finding.kind is FindingKind.OUTPUTS_UNKNOWN]
    assert doubt.message == "How close these come to the eager model is not known: bare.pte."
    assert "old exact, new unknown" in FORMATS["md"].render(report)


def test_a_reference_that_is_not_what_the_export_wrote_is_not_used(plan: Plan) -> None:
    new = plan.experiment("new").model
    assert new is not None
    (new.parent / "net.reference_0.bin").write_bytes(b"nonsense")
    assert program_of(measure(plan), NEW).snr_db is None


def test_models_of_different_eager_models_are_said_to_be(plan: Plan, tmp_path: Path) -> None:
    other = a_model_file(tmp_path / "other", "other", eager="\x00\x01\x02\x03zzzz")
    experiments = (plan.experiments[0], replace(plan.experiments[1], model=other))
    findings = measure(replace(plan, experiments=experiments)).report.findings
    (said,) = [finding for finding in findings if finding.kind is FindingKind.OUTPUTS_DIFFER]
    assert "old and new stand for different eager models" in said.message


def test_three_models_have_a_verdict_for_each_pair_and_all_of_them_hold_together(plan: Plan, tmp_path: Path) -> None:
    third = a_model_file(tmp_path / "third", "third")
    models = {e.name: e.model for e in plan.experiments if e.model} | {"third": third}
    analysis = measure(a_plan_of_models(models, tmp_path / "three"))
    report = analysis.report
    assert [(c.verdict, c.family) for c in report.comparisons] == [(Verdict.FASTER, 2), (Verdict.NO_DIFFERENCE, 2)]
    assert {c.speedup.confidence for c in report.comparisons if c.speedup} == {0.975, 0.95}
    for name in ("md", "html", "console"):
        text = " ".join(FORMATS[name].render(report).split())
        assert "Verdicts and intervals of 2 comparisons hold together with 95 % confidence (Holm" in text


def test_a_run_is_resumed_with_all_of_its_models_and_not_with_another(plan: Plan) -> None:
    session = run_scripted(plan, a_device_for_models(TIMES)).session
    cut = replace(session, results=session.results[:3], stop_reason="")
    save_session(plan.output_root, cut)
    jobs: list[Job] = []
    resumed = run_scripted(plan, a_device_for_models(TIMES, jobs.append), resume=True).session
    assert (len(resumed.results), len(jobs)) == (6, 3)
    assert resumed.programs == session.programs
    save_session(plan.output_root, cut)
    new = plan.experiment("new").model
    assert new is not None
    new.write_bytes(new.read_bytes() + b"more")
    with pytest.raises(UsageError, match="since it began the model file changed"):
        run_scripted(plan, a_device_for_models(TIMES), resume=True)


def test_a_replay_and_a_run_whose_models_are_gone_know_the_accuracy(plan: Plan, tmp_path: Path) -> None:
    run_scripted(plan, a_device_for_models(TIMES))
    for experiment in plan.experiments:
        assert experiment.model is not None
        for path in experiment.model.parent.iterdir():
            path.unlink()
    assert program_of(analyze(plan.output_root), NEW).snr_db == pytest.approx(49.06, abs=0.01)
    replay(plan.output_root, tmp_path / "again", Witness(), force=False, command="test")
    assert program_of(analyze(tmp_path / "again"), NEW).snr_db == pytest.approx(49.06, abs=0.01)


def test_a_model_that_cannot_run_does_not_end_the_run_of_the_others(plan: Plan) -> None:
    broken = replace(plan.experiments[1], extra_args=("--behave", "cannot load"))
    session = run_scripted(replace(plan, experiments=(plan.experiments[0], broken)), a_device_for_models(TIMES)).session
    assert len(session.successful(OLD)) == 3
    assert session.given_up == (NEW,)


def test_a_history_has_the_rows_of_each_model(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("ruptures")
    from etprof.app.history import add_runs, list_runs

    file, names = tmp_path / "h.duckdb", ("first", "second")
    models = {name: a_model_file(tmp_path / name, name) for name in names}
    folder = measure(a_plan_of_models(models, tmp_path / "two"), first=4.0, second=2.0).run.folder
    assert set(add_runs(file, [folder]).values()) == {"added"}
    assert set(add_runs(file, [folder]).values()) == {"unchanged"}
    assert [(trend.model, trend.variant) for trend in build_trends(file)] == [
        ("first", "first_t1"),
        ("second", "second_t1"),
    ]
    assert len(list_runs(file).rows) == 2


def test_each_model_is_sent_to_a_device_once_and_what_they_share_once(plan: Plan, tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "device").mkdir()
    with scripted_remote(LocalShell(), tmp_path / "device", progress=said.append) as remote:
        session = run_scripted(replace(plan, schedule=replace(plan.schedule, blocks=2, max_blocks=2)), remote).session
    assert all(result.is_ok for result in session.results)
    # The runner, a model and the input that both have; then the other model.
    assert count_pushes(said) == [3, 1]


@pytest.mark.parametrize(("others", "is_aligned"), [(0, True), (3, True), (4, False), (10, False)])
def test_operators_of_two_programs_are_compared_where_half_of_them_have_a_partner(
    analysis: RunAnalysis, others: int, is_aligned: bool
) -> None:
    """Of ten operators of the new program the old one does not have `others`, and has as many of its own."""
    reports = {each.variant: each for each in analysis.report.variants}
    like = reports[NEW].operators[0]
    old = tuple(replace(like, identity=OperatorId(f"p{n}"), name=f"op {n}") for n in range(10))
    new = tuple(replace(row, name=f"other {n}") if n < others else row for n, row in enumerate(old))
    made = {OLD: replace(reports[OLD], operators=old), NEW: replace(reports[NEW], operators=new)}
    (comparison,) = build_comparisons(analysis.run, {**reports, **made})
    assert not comparison.same_program
    assert comparison.categories, "which are told in any case"
    paired = [each for each in comparison.operators if each.baseline_identity and each.candidate_identity]
    assert len(paired) == (10 - others if is_aligned else 0)
    assert len(comparison.operators) == (10 + others if is_aligned else 0)
