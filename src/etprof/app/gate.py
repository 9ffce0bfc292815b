"""Finished runs against each other: two side by side, or one against a known-good one."""

from collections.abc import Mapping
from pathlib import Path

from etprof.analysis.program_check import check_programs
from etprof.analysis.regression import CheckedRun, check_regression
from etprof.analysis.report import RunAnalysis
from etprof.analysis.run_pairs import compare_runs
from etprof.app.reporting import analyze, analyze_loaded
from etprof.app.runs import load_partial_run
from etprof.core.errors import UsageError
from etprof.core.layout import label_folders
from etprof.core.regression import RegressionCheck
from etprof.core.report import Report


def compare(baseline: Path, candidate: Path, *, names: Mapping[str, str] | None = None) -> Report:
    """Two finished runs in one report, with what keeps them from being a fair pair among its findings.

    `names` has variants of the baseline that are called otherwise in the candidate.
    """
    _refuse_twice(baseline, candidate, "compared with")
    return compare_analyzed(analyze(baseline), analyze(candidate), names)


def compare_analyzed(baseline: RunAnalysis, candidate: RunAnalysis, names: Mapping[str, str] | None = None) -> Report:
    """The same for runs that are analysed already."""
    before, after = baseline.run.folder, candidate.run.folder
    _refuse_twice(before, after, "compared with")
    sides = dict(zip(label_folders([before, after]), (baseline, candidate), strict=True))
    return compare_runs(
        {label: side.run.session for label, side in sides.items()},
        {label: side.report for label, side in sides.items()},
        title=f"{after} against {before}",
        names=names or {},
    )


def check_run(
    run: Path,
    known_good: Path,
    tolerance: float,
    output_tolerance: float | None = None,
    memory_tolerance: float | None = None,
) -> RegressionCheck:
    """`tolerance` is the share of time that a variant may be slower; `output_tolerance` is how far outputs may differ,
    as a share of the largest value: by default what the precision of the model allows; `memory_tolerance` is the share
    by which peak memory may grow, which is not judged without one.

    Of the known-good run manifest.json and metrics.json are enough: without its traces no categories are compared.
    """
    _refuse_twice(run, known_good, "checked against")
    labels = label_folders([known_good, run])
    sides = [_load(folder, label) for folder, label in zip((known_good, run), labels, strict=True)]
    return check_regression(sides[0], sides[1], tolerance, output_tolerance, memory_tolerance)


def check_measured(
    analysis: RunAnalysis,
    tolerance: float,
    output_tolerance: float | None = None,
    memory_tolerance: float | None = None,
) -> RegressionCheck:
    """The same for two models that were measured in one run, the known-good one as its baseline."""
    return check_programs(analysis.run, analysis.report, tolerance, output_tolerance, memory_tolerance)


def _load(folder: Path, label: str) -> CheckedRun:
    loaded = load_partial_run(folder)
    return CheckedRun(label, loaded, analyze_loaded(loaded).report)


def _refuse_twice(one: Path, other: Path, what: str) -> None:
    if one.resolve() == other.resolve():
        raise UsageError(f"{one} was given twice; a run cannot be {what} itself.")
