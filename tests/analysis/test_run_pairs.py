"""Two finished runs side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_loaded_run, a_session, paired_results, with_plan, with_program
from etprof.analysis.report import build_report
from etprof.analysis.run_pairs import compare_runs
from etprof.core.errors import UsageError
from etprof.core.estimates import Verdict
from etprof.core.findings import FindingKind
from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.core.run import Session

OLD = a_session(results=paired_results([4.0, 4.02, 3.98, 4.0, 4.01, 3.99], [2.0, 2.01, 1.99, 2.0, 2.01, 1.99]))
NEW = a_session(results=paired_results([4.0, 4.01, 3.99, 4.0, 4.02, 3.98], [1.6, 1.61, 1.59, 1.6, 1.61, 1.59]))


def compare(old: Session, new: Session, names: dict[str, str] | None = None) -> Report:
    sessions = {"old": old, "new": new}
    reports = {label: build_report(a_loaded_run(s), title="t", created_at="now") for label, s in sessions.items()}
    return compare_runs(sessions, reports, title="new against old", names=names)


def test_variants_of_the_same_name_are_compared_and_judged() -> None:
    unchanged, faster = compare(OLD, NEW).comparisons
    assert (unchanged.baseline, unchanged.candidate) == (Variant("old: off", 1), Variant("new: off", 1))
    assert unchanged.title == "new: off against old: off (1 thread)"
    assert unchanged.verdict is Verdict.NO_DIFFERENCE
    assert faster.verdict is Verdict.FASTER
    assert faster.speedup is not None
    assert faster.speedup.value == pytest.approx(1.25, rel=0.01)


def test_what_differs_between_the_runs_is_said() -> None:
    other = replace(NEW, versions={"etprof": "0.2.0"}, device=replace(NEW.device, cpu_model="B"))
    other = with_program(other, model_sha256="f" * 64)
    messages = " ".join(f.message for f in compare(OLD, other).findings)
    for word in ("model file", "CPU", "version of etprof", "different times"):
        assert word in messages


def test_two_models_are_advised_to_be_measured_in_one_run_and_one_model_to_be_run_again() -> None:
    def advise(other: Session) -> str:
        return next(f.advice for f in compare(OLD, other).findings if f.kind is FindingKind.NOT_INTERLEAVED)

    assert advise(NEW) == "For a fair comparison run both again, one right after the other."
    plan = replace(NEW.plan, model=Path("out new/model.pte"))
    other = with_program(with_plan(NEW, plan), model_sha256="f" * 64)
    assert advise(other) == (
        "For a fair comparison measure both in one run: `etprof check model.pte 'out new/model.pte'`."
    )
    assert not compare(OLD, other).comparisons[0].same_program


def test_variants_in_one_run_only_are_named_and_none_in_common_is_refused() -> None:
    lonely = replace(NEW, results=tuple(r for r in NEW.results if r.experiment == "on"))
    left_out = [f.message for f in compare(OLD, lonely).findings if f.kind is FindingKind.NOT_COMPARED]
    assert left_out == ["off, 1 thread is in one run only."]
    renamed = replace(OLD, results=tuple(r for r in OLD.results if r.experiment == "off"))
    with pytest.raises(UsageError, match="no variant of the same name"):
        compare(renamed, lonely)


def test_variants_with_other_names_are_matched_as_asked() -> None:
    plan = replace(NEW.plan, experiments=tuple(replace(e, name=f"{e.name}_v2") for e in NEW.plan.experiments), pairs=())
    other = with_plan(NEW, plan, results=tuple(replace(r, experiment=f"{r.experiment}_v2") for r in NEW.results))
    with pytest.raises(UsageError, match="no variant of the same name") as caught:
        compare(OLD, other)
    assert "--map OLD=NEW" in caught.value.hint
    report = compare(OLD, other, {"on": "on_v2"})
    assert [c.title for c in report.comparisons] == ["new: on_v2 against old: on (1 thread)"]
    left_out = [f.message for f in report.findings if f.kind is FindingKind.NOT_COMPARED]
    assert left_out == ["off, 1 thread is in one run only.", "off_v2, 1 thread is in one run only."]
    assert len(compare(OLD, other, {"on_t1": "on_v2_t1", "off": "off_v2"}).comparisons) == 2
    with pytest.raises(UsageError, match="no timed variant 'none'"):
        compare(OLD, other, {"on": "none"})


def test_the_noise_is_that_of_the_noisier_run_and_its_doubts_are_told() -> None:
    drift = [3.4, 3.55, 3.7, 3.85, 4.0, 4.18]
    drifting = replace(NEW, results=paired_results(drift, [1.6, 1.61, 1.59, 1.6, 1.61, 1.59]))
    for report in (compare(OLD, drifting), compare(drifting, OLD)):
        noise = report.comparisons[0].noise_floor
        assert noise is not None
        assert noise > 0.1, "its blocks lie 22.9 % apart; nothing cancels a drift between two runs"
        (spread,) = [f for f in report.findings if f.kind is FindingKind.SPREAD]
        assert spread.message.endswith("off, 1 thread: block medians differ by up to 22.9 %.")


def test_the_bound_of_the_baselines_plan_decides_what_counts_as_equal() -> None:
    noisy = replace(OLD, results=paired_results([4.0, 4.2, 3.8, 4.1, 3.9, 4.0], [2.0, 2.01, 1.99, 2.0, 2.01, 1.99]))
    strict = compare(OLD, noisy).comparisons[0]
    assert (strict.verdict, strict.equivalence_bound) == (Verdict.INCONCLUSIVE, 0.02)
    plan = replace(OLD.plan, schedule=replace(OLD.plan.schedule, equivalence_bound=0.1))
    assert compare(replace(OLD, plan=plan), noisy).comparisons[0].verdict is Verdict.NO_DIFFERENCE


def test_emulated_times_are_never_compared() -> None:
    with pytest.raises(UsageError, match="emulated"):
        compare(OLD, replace(NEW, device=replace(NEW.device, times_are_real=False)))
