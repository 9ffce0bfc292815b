"""Checks the files of a finished run against those of a known-good one.

Of the known-good run manifest.json and metrics.json are enough: without its traces no categories are compared.
"""

from pathlib import Path

from etprof.analysis.outputs import Outputs
from etprof.analysis.regression import ArmKey, CheckedRun, check_regression
from etprof.analysis.summary import build_report
from etprof.core.errors import UsageError
from etprof.core.regression import RegressionCheck
from etprof.core.report import Report
from etprof.core.run import Session
from etprof.measurement import utc_now
from etprof.pipeline import analyze, short_labels
from etprof.store.session_file import load_session
from etprof.traces.runner_result import read_output_values


def check_run(run: Path, known_good: Path, tolerance: float) -> RegressionCheck:
    """`tolerance` is the share of time that an arm may be slower."""
    if run.resolve() == known_good.resolve():
        raise UsageError(f"{run} was given twice; a run cannot be checked against itself.")
    known_label, label = short_labels(known_good, run)
    return check_regression(_load_run(known_good, known_label), _load_run(run, label), tolerance)


def _load_run(folder: Path, label: str) -> CheckedRun:
    session = load_session(folder)
    return CheckedRun(label, session, _report_of(folder, session), _read_outputs(folder, session))


def _report_of(folder: Path, session: Session) -> Report:
    """The report of the run, without where the time goes if no block ended well or a trace was not kept."""
    good = [r for r in session.results if r.is_ok]
    files = [name for r in good for name in (r.etdump, r.samples, *(o.file for o in r.outputs)) if name]
    if good and all((folder / name).is_file() for name in files):
        return analyze(folder)
    return build_report(session, {}, {}, title="", created_at=utc_now())


def _read_outputs(folder: Path, session: Session) -> dict[ArmKey, Outputs]:
    """The outputs of each arm's first good block whose files are there."""
    outputs: dict[ArmKey, Outputs] = {}
    for experiment, threads in session.plan.arms:
        results = session.results_of(experiment.name, threads)
        if results and all((folder / output.file).is_file() for output in results[0].outputs):
            outputs[experiment.name, threads] = read_output_values(folder, results[0])
    return outputs
