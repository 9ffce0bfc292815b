"""`etprof quickstart`: export, run and report in one go, as the first thing a new user sees and as a smoke test."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.export import print_artifact, stages
from etprof.cli.run import finish, run_locally
from etprof.core.errors import UsageError


def command(
    model: Annotated[str, typer.Option(help="Which model; `etprof models` lists them.")] = "toy_cnn",
    dtype: Annotated[str, typer.Option(help="fp32 or fp16.")] = "fp32",
    platform: Annotated[str, typer.Option(help="mac or linux: this machine; checked, not chosen.")] = "",
    out_dir: Annotated[Path | None, typer.Option("--out", help="Default: model_profiling/out_MODEL.")] = None,
) -> None:
    """Export a model, profile it on this machine, and write the report."""
    from etprof.core.plan import Schedule
    from etprof.devices.local import local_platform
    from etprof.export.exporter import ExportRequest, export_model
    from etprof.pipeline import default_plan

    if platform not in ("", local_platform()):
        raise UsageError(f"This machine is {local_platform()}, not {platform}.", hint="Leave out --platform.")
    folder = out_dir or Path("model_profiling") / f"out_{model}"
    request = ExportRequest(model=model, dtype=dtype, outdir=folder / "artifacts", save_graph=True)
    with stages(request.stem) as progress:
        artifact = export_model(request, progress)
    print_artifact(artifact)
    out.print("export ok")
    # A quick start is repeated on purpose: an older run moves aside without being asked about.
    plan = default_plan(artifact.pte, None, Schedule(max_blocks=12, time_budget_s=30.0, retries=0))
    finish(run_locally(plan, "auto", force=True))
