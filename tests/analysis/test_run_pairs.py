"""Two finished runs side by side."""

from dataclasses import replace

import pytest

from builders import a_loaded_run, a_session, paired_results
from etprof.analysis.report import build_report
from etprof.analysis.run_pairs import compare_runs
from etprof.core.errors import UsageError
from etprof.core.findings import FindingKind
from etprof.core.plan import Variant
from etprof.core.report import Report, Verdict
from etprof.core.run import Session

OLD = a_session(results=paired_results([4.0, 4.02, 3.98, 4.0, 4.01, 3.99], [2.0, 2.01, 1.99, 2.0, 2.01, 1.99]))
NEW = a_session(results=paired_results([4.0, 4.01, 3.99, 4.0, 4.02, 3.98], [1.6, 1.61, 1.59, 1.6, 1.61, 1.59]))


def compare(old: Session, new: Session) -> Report:
    sessions = {"old": old, "new": new}
    reports = {label: build_report(a_loaded_run(s), title="t", created_at="now") for label, s in sessions.items()}
    return compare_runs(sessions, reports, title="new against old")


def test_variants_of_the_same_name_are_compared_and_judged() -> None:
    unchanged, faster = compare(OLD, NEW).comparisons
    assert (unchanged.baseline, unchanged.candidate) == (Variant("old: off", 1), Variant("new: off", 1))
    assert unchanged.title == "new: off against old: off (1 thread)"
    assert unchanged.verdict is Verdict.NO_DIFFERENCE
    assert faster.verdict is Verdict.FASTER
    assert faster.speedup is not None
    assert faster.speedup.value == pytest.approx(1.25, rel=0.01)


def test_what_differs_between_the_runs_is_said() -> None:
    other = replace(NEW, model_sha256="f" * 64, versions={"etprof": "0.2.0"}, device=replace(NEW.device, cpu_model="B"))
    messages = " ".join(f.message for f in compare(OLD, other).findings)
    for word in ("model file", "CPU", "version of etprof", "different times"):
        assert word in messages


def test_variants_in_one_run_only_are_named_and_none_in_common_is_refused() -> None:
    lonely = replace(NEW, results=tuple(r for r in NEW.results if r.experiment == "on"))
    left_out = [f.message for f in compare(OLD, lonely).findings if f.kind is FindingKind.NOT_COMPARED]
    assert left_out == ["off, 1 thread is in one run only."]
    renamed = replace(OLD, results=tuple(r for r in OLD.results if r.experiment == "off"))
    with pytest.raises(UsageError, match="no variant of the same name"):
        compare(renamed, lonely)


def test_emulated_times_are_never_compared() -> None:
    with pytest.raises(UsageError, match="emulated"):
        compare(OLD, replace(NEW, device=replace(NEW.device, times_are_real=False)))
