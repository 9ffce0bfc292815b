"""`etprof run`: runs a plan file on a device, analyses the traces and writes the report."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import command_line, say, show
from etprof.cli.options import (
    DeviceFolderOption,
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
)
from etprof.core.errors import UsageError
from etprof.devices import list_usages

if TYPE_CHECKING:
    from collections.abc import Callable

    from etprof.analysis.report import RunAnalysis
    from etprof.app.runs import MeasuredRun
    from etprof.core.plan import Plan


def command(
    plan_file: Annotated[Path | None, typer.Argument(metavar="PLAN", help="The plan to run (JSON).")] = None,
    config: Annotated[Path | None, typer.Option(help="The same, as an option.")] = None,
    device: Annotated[str, typer.Option(help=f"Where to run: {list_usages()}; recorded:DIR replays a run.")] = "local",
    remote_device: Annotated[str, typer.Option(help="An Android device on the network, HOST:PORT.")] = "",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    keep_on_device: KeepOption = False,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    only: Annotated[list[str] | None, typer.Option(help="Run this experiment only; may be given again.")] = None,
    output_root: Annotated[Path | None, typer.Option(help="Write here instead of the plan's output_root.")] = None,
    force: ForceOption = False,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
    analysis_only: Annotated[bool, typer.Option("--analysis-only", help="Run nothing; analyse what is there.")] = False,
    dry_run: DryRunOption = False,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Sample which kernels execute too, in blocks of their own.")
    ] = False,
    history: HistoryOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show every runner's command line.")] = False,
) -> None:
    from etprof.app.plans import add_sampled_variants, read_plan
    from etprof.app.profiling import RunOptions, run_on
    from etprof.cli.progress import RunProgress

    if plan_file and config:
        raise UsageError(f"Give one plan: {plan_file} or {config}.")
    refuse_force_and_resume(force, resume)
    kind, _, place = device.partition(":")
    if kind == "recorded":
        _replay(place, plan_file or config, output_root, force=force)
        return
    request = build_request(
        device, remote_device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle,
        prepare=prepare, keep=keep_on_device, wait=not no_wait, verbose=verbose,
    )  # fmt: skip
    path = plan_file or config
    if path is None:
        raise UsageError("A run needs a plan.", hint="Name a plan file, or use `etprof profile MODEL.pte`.")
    plan = read_plan(path, output_root=output_root, only=tuple(only or ()))
    plan = add_sampled_variants(plan) if kernels else plan
    if analysis_only:
        from etprof.app.reporting import FILE_FORMATS
        from etprof.cli.report import read_analysis

        # The report alone: the tables beside it were written by the run, and `etprof report` writes them again.
        _show_and_write(read_analysis(plan.output_root), FILE_FORMATS)
    elif dry_run:
        show_schedule(plan)
    else:
        with RunProgress() as progress:
            options = RunOptions(command_line(), force=force, resume=resume, plan_path=path)
            measured = run_on(request, plan, progress, options)
        finish(measured, partial(show_run, history=history))


def show_run(measured: "MeasuredRun", history: Path | None = None) -> None:
    """Analyses the run, shows it, says where the report is, and adds it to a history where there is one."""
    from etprof.app.reporting import analyze_measured

    analysis = analyze_measured(measured)
    _show_and_write(analysis)
    _remember(analysis, history)


def keep_run(measured: "MeasuredRun", history: Path | None) -> "RunAnalysis":
    """Writes the report of a run whose answer is another one, and adds it to a history where there is one."""
    from etprof.app.reporting import analyze_measured, write_report

    analysis = analyze_measured(measured)
    write_report(analysis)
    say(f"{len(measured.session.results)} blocks: {measured.session.stop_reason}; report in {analysis.run.folder}")
    _remember(analysis, history)
    return analysis


def _remember(analysis: "RunAnalysis", history: Path | None) -> None:
    if history:
        from etprof.app.history import add_analysis
        from etprof.cli.history import ci_commit

        say(f"{history}: {add_analysis(history, analysis, commit=ci_commit())}")


def finish(measured: "MeasuredRun", show_results: "Callable[[MeasuredRun], None]" = show_run) -> None:
    """Says how the run ended, then shows it; exit code 1 when a block failed."""
    session = measured.session
    failed = sum(not r.is_ok for r in session.results)
    say(f"{len(session.results)} blocks: {session.stop_reason}")
    show("pipeline ok" if not failed else f"pipeline ended with {failed} failed blocks")
    show_results(measured)
    if failed:
        raise typer.Exit(1)


def _show_and_write(analysis: "RunAnalysis", formats: tuple[str, ...] = ()) -> None:
    from etprof.cli.report import show_console, write_and_show

    show_console(analysis)
    write_and_show(analysis, formats=formats)


def _replay(place: str, config: Path | None, output_root: Path | None, *, force: bool) -> None:
    from etprof.app.measuring import replay
    from etprof.cli.progress import RunProgress

    if not place or config is not None or output_root is None:
        raise UsageError(
            "A replay takes its plan from the recording.", hint="etprof run --device recorded:DIR --output-root OUT"
        )
    with RunProgress() as progress:
        measured = replay(one_run_dir(Path(place)), output_root, progress, force=force, command=command_line())
    finish(measured)


def show_schedule(plan: "Plan") -> None:
    from etprof.app.schedule import build_rounds

    models = dict.fromkeys(str(program.model) for program in plan.programs)
    show(f"model {', '.join(models)}, results to {plan.output_root}")
    for index, blocks in enumerate(build_rounds(plan)):
        show(f"round {index + 1}: {', '.join(block.variant.stem for block in blocks)}")
    extra = plan.schedule.max_blocks - plan.schedule.blocks
    if extra:
        show(f"then up to {extra} more rounds, until intervals are narrower than the target")
    for before, after in plan.compared:
        show(f"compare: {after.label} against {before.label}")
