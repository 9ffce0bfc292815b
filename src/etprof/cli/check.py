"""`etprof check`: whether a run, or a model, is as good as a known-good one, for use in CI."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etprof.cli.console import show
from etprof.cli.options import (
    BudgetOption,
    DeviceFolderOption,
    DeviceOption,
    DryRunOption,
    EmulatorOption,
    ForceOption,
    HistoryOption,
    KeepOption,
    NoWaitOption,
    PrepareOption,
    ResumeOption,
    RunnerBundleOption,
    build_request,
    one_run_dir,
    refuse_force_and_resume,
    refuse_together,
)
from etprof.core.errors import UsageError

if TYPE_CHECKING:
    from typing import NoReturn

    from etprof.app.devices import DeviceRequest
    from etprof.core.regression import RegressionCheck

INCONCLUSIVE_EXIT_CODE = 3
# What a check of finished runs has no use for.
_OF_MODELS = (
    "output_root", "device", "device_folder", "emulator", "runner_bundle", "prepare", "keep_on_device", "runner",
    "runs", "threads", "blocks", "max_blocks", "budget", "force", "resume", "no_wait", "history", "dry_run",
)  # fmt: skip


def command(
    context: typer.Context,
    run_dir: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_DIR|OLD.pte", help="Folder of the run that is checked, or with NEW.pte the known-good model."
        ),
    ],
    new: Annotated[
        Path | None,
        typer.Argument(metavar="NEW.pte", help="The model that is checked: both are measured here, interleaved."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="KNOWN_GOOD", help="Folder of the known-good run; its manifest and metrics are enough."),
    ] = None,
    against_history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Instead: the recent stable runs of the same model, variant and device in a history."
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, metavar="PCT", help="How much slower a variant may be, in percent.")
    ] = 5.0,
    output_tolerance: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SHARE",
            help="How far outputs may differ, as a share of the largest value; default: by the model's precision. "
            "States that another precision is accepted.",
            show_default=False,
        ),
    ] = None,
    memory_tolerance: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="PCT",
            help="How much the peak memory of a variant may grow, in percent; not judged without it.",
            show_default=False,
        ),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the summary there too; it is always printed.")
    ] = None,
    output_root: Annotated[
        Path | None, typer.Option(help="Two models: folder for the run; default: beside NEW.pte.")
    ] = None,
    device: DeviceOption = "local",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    keep_on_device: KeepOption = False,
    runner: Annotated[str, typer.Option(help="Two models: auto, native or python.")] = "auto",
    runs: Annotated[int, typer.Option(min=1, help="Two models: timed iterations in each process.")] = 20,
    threads: Annotated[
        str, typer.Option(metavar="COUNTS", help="Two models: a number of threads, several such as 1,2,4, or auto.")
    ] = "1",
    blocks: Annotated[int, typer.Option(min=1, help="Two models: fresh processes of each.")] = 6,
    max_blocks: Annotated[int, typer.Option(min=1, help="At most, if more are needed for a narrow interval.")] = 24,
    budget: BudgetOption = "2m",
    force: ForceOption = False,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
    history: HistoryOption = None,
    dry_run: DryRunOption = False,
) -> None:
    from etprof.app.gate import check_measured
    from etprof.app.plans import build_profile_schedule
    from etprof.app.profiling import RunOptions, measure_models
    from etprof.app.thread_counts import parse_threads
    from etprof.cli.console import command_line
    from etprof.cli.progress import RunProgress
    from etprof.cli.run import keep_run

    refuse_together(against=against, against_history=against_history)
    refuse_together("A history keeps no outputs.", output_tolerance=output_tolerance, against_history=against_history)
    refuse_together(
        "A history is judged by its times.", memory_tolerance=memory_tolerance, against_history=against_history
    )
    refuse_force_and_resume(force, resume)
    may_grow = None if memory_tolerance is None else memory_tolerance / 100
    if new is None:
        _refuse_options_of_models(context, run_dir)
        tolerances = tolerance / 100, output_tolerance, may_grow
        _show(_check_run(run_dir, against, against_history, tolerances), summary)
    if against or against_history:
        raise UsageError("Two models are checked against each other.", hint="Omit --against and --against-history.")
    request = build_request(
        device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle, prepare=prepare,
        keep=keep_on_device, wait=not no_wait,
    )  # fmt: skip
    options: dict[str, Any] = {
        "output_root": output_root, "schedule": build_profile_schedule(blocks, max_blocks, budget), "runs": runs,
        "threads": parse_threads(threads),
    }  # fmt: skip
    if dry_run:
        _show_plan(run_dir, new, request, options)
        return
    with RunProgress() as progress:
        run_options = RunOptions(command_line(), force=force, resume=resume)
        measured = measure_models(run_dir, new, request, progress, run_options, **options)
    analysis = keep_run(measured, history)
    _show(check_measured(analysis, tolerance / 100, output_tolerance, may_grow), summary)


def _check_run(
    run_dir: Path,
    against: Path | None,
    history: Path | None,
    tolerances: tuple[float, float | None, float | None],
) -> "RegressionCheck":
    """The tolerances are those of time, of outputs and of memory."""
    from etprof.app.gate import check_run
    from etprof.app.history import check_against_history

    if history:
        return check_against_history(one_run_dir(run_dir), history, tolerances[0])
    if against is None:
        raise UsageError(
            "A check needs a known-good run.",
            hint="Give --against KNOWN_GOOD or --against-history FILE; for two models: etprof check OLD.pte NEW.pte",
        )
    return check_run(one_run_dir(run_dir), one_run_dir(against), *tolerances)


def _refuse_options_of_models(context: typer.Context, run_dir: Path) -> None:
    if run_dir.suffix == ".pte":
        raise UsageError("One model has nothing to be checked against.", hint=f"etprof check OLD.pte {run_dir}")
    for name in _OF_MODELS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} is for two models, which are measured; {run_dir} is a finished run.", hint=f"Omit {option}."
            )


def _show_plan(old: Path, new: Path, request: "DeviceRequest", options: dict[str, Any]) -> None:
    from etprof.app.named_model import require_model
    from etprof.app.plans import build_check_plan
    from etprof.app.profiling import plan_for, refuse_same_model
    from etprof.cli.run import show_schedule

    for model in (old, new):
        require_model(model)
    refuse_same_model(old, new)
    show_schedule(plan_for(request, partial(build_check_plan, old, new, **options)))


def _show(check: "RegressionCheck", summary: Path | None) -> "NoReturn":
    """The summary, on the terminal and in a file, and the exit code that the verdict stands for."""
    from etprof.core.regression import Outcome
    from etprof.reports import check_summary
    from etprof.reports.plain_text import printable
    from etprof.store.json_file import write_text

    text = check_summary.render(check)
    for line in text.splitlines():
        show(printable(line))
    if summary is not None:
        write_text(summary, text)
    codes = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: INCONCLUSIVE_EXIT_CODE}
    raise typer.Exit(codes[check.outcome])
