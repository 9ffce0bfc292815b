"""`etprof run`: runs a plan file on a device, analyses the traces and writes the report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import command_line, err, out
from etprof.cli.progress import RunProgress
from etprof.core.errors import UsageError

if TYPE_CHECKING:
    from etprof.core.plan import Plan
    from etprof.core.run import Session
    from etprof.device_choice import DeviceRequest, OpenDevice


def command(
    plan_file: Annotated[Path | None, typer.Argument(metavar="PLAN", help="The plan to run (JSON).")] = None,
    config: Annotated[Path | None, typer.Option(help="The same, as an option.")] = None,
    device: Annotated[
        str, typer.Option(help="local, android[:SERIAL], ssh:USER@HOST[:PORT], emulated, or recorded:DIR for a replay.")
    ] = "local",
    remote_device: Annotated[str, typer.Option(help="An Android device on the network, HOST:PORT.")] = "",
    device_folder: Annotated[str, typer.Option(help="Folder on the device to work in.")] = "",
    emulator: Annotated[
        str, typer.Option(help="A qemu-aarch64 to run under, by its path on the device: kernels are real, times not.")
    ] = "",
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Keep the device awake and its speed steady; put back afterwards.")
    ] = False,
    keep_on_device: Annotated[
        bool, typer.Option("--keep-on-device", help="Leave runner and model there, so that the next run pushes less.")
    ] = False,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    only: Annotated[list[str] | None, typer.Option(help="Run this experiment only; may be given again.")] = None,
    output_root: Annotated[Path | None, typer.Option(help="Write here instead of the plan's output_root.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Move an older run in that folder aside.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    analysis_only: Annotated[bool, typer.Option("--analysis-only", help="Run nothing; analyse what is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Sample which kernels execute too, in blocks of their own.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say every runner's command line.")] = False,
) -> None:
    """Run a plan: interleaved blocks, analysis, report."""
    if plan_file and config:
        raise UsageError(f"Give one plan: {plan_file} or {config}.")
    config = plan_file or config
    if force and resume:
        raise UsageError("--force begins anew and --resume goes on; give one of them.")
    kind, _, place = device.partition(":")
    if kind == "recorded":
        _replay(place, config, output_root, force=force)
        return
    request = build_request(
        device, remote_device, runner, device_folder, emulator,
        prepare=prepare, keep=keep_on_device, verbose=verbose,
    )  # fmt: skip
    plan = _load_plan(config, output_root, tuple(only or ()))
    if kernels:
        from etprof.sampled_plan import add_sampled_arms

        plan = add_sampled_arms(plan)
    if analysis_only:
        from etprof.cli.report import write_report

        write_report(plan.output_root)
    elif dry_run:
        _print_schedule(plan)
    else:
        finish(run_on(request, plan, force=force, resume=resume))


def run_locally(plan: "Plan", runner: str, *, force: bool) -> "Session":
    return run_on(build_request("local", runner=runner), plan, force=force)


def run_on(request: "DeviceRequest", plan: "Plan", *, force: bool, resume: bool = False) -> "Session":
    from dataclasses import replace

    from etprof.device_choice import open_device

    with open_device(replace(request, experiments=plan.experiments)) as opened:
        return run_opened(opened, plan, force=force, resume=resume)


def run_opened(opened: "OpenDevice", plan: "Plan", *, force: bool, resume: bool = False) -> "Session":
    from etprof.pipeline import run_plan

    device = opened.device
    with RunProgress(show_times=device.describe().times_are_real) as progress:
        return run_plan(plan, device, progress, command=command_line(), force=force, resume=resume, notes=opened.notes)


def build_request(
    device: str, remote_device: str = "", runner: str = "auto", folder: str = "", emulator: str = "", *,
    prepare: bool = False, keep: bool = False, verbose: bool = False,
) -> "DeviceRequest":  # fmt: skip
    from dataclasses import replace

    from etprof.device_choice import parse_device

    if remote_device:
        if device not in ("android", "local"):
            raise UsageError("--remote-device is a way to name an Android device; leave out --device.")
        device = f"android:{remote_device}"

    def say(text: str) -> None:
        err.print(text, markup=False)

    request = replace(parse_device(device), runner=runner, folder=folder, emulator=emulator, prepare=prepare)
    return replace(request, keep=keep, progress=say, say_command=say if verbose else request.say_command)


def finish(session: "Session") -> None:
    """Says how the run ended, then analyses it and says where the report is; exit code 1 when a block failed."""
    from etprof.cli.report import write_report
    from etprof.pipeline import write_run_files

    failed = sum(not r.is_ok for r in session.results)
    err.print(f"{len(session.results)} blocks: {session.stop_reason}", markup=False)
    out.print("pipeline ok" if not failed else f"pipeline ended with {failed} failed blocks")
    write_run_files(session.plan.output_root, write_report(session.plan.output_root))
    if failed:
        raise typer.Exit(1)


def _load_plan(config: Path | None, output_root: Path | None, only: tuple[str, ...]) -> "Plan":
    from dataclasses import replace

    from etprof.pipeline import select_experiments
    from etprof.store.plan_file import load_plan

    if config is None:
        raise UsageError("A run needs a plan.", hint="Name a plan file, or use `etprof profile MODEL.pte`.")
    plan = load_plan(config)
    plan = select_experiments(plan, only) if only else plan
    return replace(plan, output_root=output_root or plan.output_root)


def _replay(place: str, config: Path | None, output_root: Path | None, *, force: bool) -> None:
    from etprof.pipeline import replay
    from etprof.store.session_file import load_session

    if not place or config is not None or output_root is None:
        raise UsageError(
            "A replay takes its plan from the recording.", hint="etprof run --device recorded:DIR --output-root OUT"
        )
    with RunProgress(show_times=load_session(Path(place)).device.times_are_real) as progress:
        session = replay(Path(place), output_root, progress, force=force, command=command_line())
    finish(session)


def _print_schedule(plan: "Plan") -> None:
    from etprof.schedule import build_rounds

    out.print(f"model {plan.model}, results to {plan.output_root}", markup=False)
    for index, blocks in enumerate(build_rounds(plan)):
        out.print(f"round {index + 1}: {', '.join(block.key for block in blocks)}", markup=False)
    extra = plan.schedule.max_blocks - plan.schedule.blocks
    if extra:
        out.print(f"then up to {extra} more rounds, until intervals are narrower than the target")
    for pair in plan.pairs:
        out.print(f"compare: {pair.candidate} against {pair.baseline}", markup=False)
