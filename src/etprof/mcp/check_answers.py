"""What an assistant is answered that asks whether a new model is as good as the old one."""

from dataclasses import dataclass, replace

from etprof.app.devices import parse_device
from etprof.app.gate import check_measured
from etprof.app.profiling import build_run_options, measure_models
from etprof.app.progress import Progress, RunCounter
from etprof.app.reporting import analyze_measured, write_report
from etprof.core.layout import run_folder
from etprof.core.plan import Schedule
from etprof.mcp.workspace import Workspace
from etprof.reports import check_summary


@dataclass(frozen=True)
class Checked:
    """`outcome` is pass, fail or inconclusive."""

    outcome: str
    summary: str
    run_dir: str


def check(
    workspace: Workspace, models: tuple[str, str], progress: Progress, *, device: str, schedule: Schedule,
    output_root: str, threads: tuple[int, ...], tolerance: float, memory_tolerance: float | None = None,
) -> Checked:  # fmt: skip
    """Measures two models in one run, writes its report, and judges the new one by the old one."""
    request = replace(parse_device(device), wait=False, progress=lambda text: progress(0, None, text))
    old, new = (workspace.model_file(model) for model in models)
    folder = workspace.target_folder(output_root) if output_root else None
    workspace.target_folder(run_folder(new, ""))
    with workspace.confined():
        measured = measure_models(
            old, new, request, RunCounter(progress), build_run_options("etprof mcp: check", force=False, resume=False),
            output_root=folder, schedule=schedule, threads=threads,
        )  # fmt: skip
        analysis = analyze_measured(measured)
        write_report(analysis)
    result = check_measured(analysis, tolerance, memory_tolerance=memory_tolerance)
    return Checked(result.outcome.value, check_summary.render(result), str(analysis.run.folder))
