"""`etprof llm`: prompts and generated tokens of a language model, as tokens a second, with the extension on and off."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.options import (
    BudgetOption,
    CsvOption,
    DeviceFolderOption,
    DeviceOption,
    DryRunOption,
    EmulatorOption,
    ForceOption,
    HistoryOption,
    JsonOption,
    KeepOption,
    NoWaitOption,
    PrepareOption,
    ResumeOption,
    RunnerBundleOption,
    WideOption,
    build_request,
    refuse_force_and_resume,
    refuse_together,
)
from etprof.core.errors import UsageError

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest
    from etprof.app.llm import LlmRequest
    from etprof.app.runs import MeasuredRun


def command(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="The exported language model (.pte).", show_default=False)
    ] = None,
    prompt: Annotated[
        str, typer.Option(metavar="COUNTS", help="Tokens of a prompt: a number, or several such as 32,128; 0 for none.")
    ] = "128",
    generate: Annotated[
        str, typer.Option(metavar="COUNTS", help="Tokens to generate one by one, in the same way; 0 for none.")
    ] = "64",
    depth: Annotated[
        str, typer.Option(metavar="COUNTS", help="Tokens that the cache holds before each test, in the same way.")
    ] = "0",
    seed: Annotated[int, typer.Option(min=0, help="Of the token ids, which are random numbers.")] = 0,
    threads: Annotated[
        str, typer.Option(metavar="COUNTS", help="Threads XNNPACK may use: a number, several such as 1,2,4, or auto.")
    ] = "1",
    output_root: Annotated[
        Path | None, typer.Option(help="Folder for the run; default: runs/PLATFORM_PRECISION_llm.")
    ] = None,
    device: DeviceOption = "local",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    keep_on_device: KeepOption = False,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    runs: Annotated[int, typer.Option(min=1, help="Timed sequences of all tests in each process.")] = 3,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per variant.")] = 6,
    max_blocks: Annotated[int, typer.Option(min=1, help="At most, if more are needed for a narrow interval.")] = 24,
    budget: BudgetOption = "5m",
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Sample which kernels execute too, in blocks of their own.")
    ] = False,
    force: ForceOption = False,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
    history: HistoryOption = None,
    dry_run: DryRunOption = False,
    log: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Run nothing: show what ExecuTorch's own runner printed there; may be given again."
        ),
    ] = None,
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
) -> None:
    from etprof.app.llm import build_llm_request, run_llm
    from etprof.app.profiling import RunOptions
    from etprof.cli.console import command_line
    from etprof.cli.progress import RunProgress
    from etprof.cli.run import finish

    refuse_force_and_resume(force, resume)
    refuse_together(csv=as_csv, json=as_json)
    if log:
        _show_logs(log, model, wide=wide, as_csv=as_csv, as_json=as_json)
        return
    if model is None:
        raise UsageError("A language model is needed.", hint="etprof llm MODEL.pte, or etprof llm --log FILE")
    asked = build_llm_request(
        model, prompt=prompt, generate=generate, depth=depth, threads=threads, runs=runs, blocks=blocks,
        max_blocks=max_blocks, budget=budget, seed=seed, kernels=kernels, output_root=output_root,
    )  # fmt: skip
    request = build_request(
        device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle, prepare=prepare,
        keep=keep_on_device, wait=not no_wait,
    )  # fmt: skip
    if dry_run:
        _show_plan(asked, request)
        return
    with RunProgress() as progress:
        measured = run_llm(asked, request, progress, RunOptions(command_line(), force=force, resume=resume))
    render = "csv" if as_csv else "json" if as_json else ""
    finish(measured, partial(_show_results, history=history, render=render, wide=wide))


def _show_plan(asked: "LlmRequest", request: "DeviceRequest") -> None:
    from etprof.app.llm import build_llm_plan, plan_workload
    from etprof.app.profiling import plan_for
    from etprof.cli.console import show
    from etprof.cli.run import show_schedule

    workload = plan_workload(asked)
    for phase in workload.phases:
        show(f"{phase.name}: {phase.method}, {phase.repeats} steps of {phase.stride} tokens")
    show_schedule(plan_for(request, partial(build_llm_plan, asked, workload)))


def _show_results(measured: "MeasuredRun", history: Path | None, *, render: str, wide: bool) -> None:
    from etprof.app.reporting import describe_llm
    from etprof.cli.console import show, terminal_width
    from etprof.cli.run import keep_run
    from etprof.reports.llm_tables import RENDERERS, render_console

    results = describe_llm(keep_run(measured, history))
    if results:
        show(RENDERERS[render](results) if render else render_console(results, None if wide else terminal_width()))


def _show_logs(logs: list[Path], model: Path | None, *, wide: bool, as_csv: bool, as_json: bool) -> None:
    from etprof.cli.console import show, show_json, show_table
    from etprof.reports.llm_tables import build_log_table, render_log_csv
    from etprof.traces.llm_log import read_llm_log

    if model is not None:
        raise UsageError(f"--log shows what was measured before; {model} would not be run.", hint="Omit one of them.")
    records = {str(path): read_llm_log(path) for path in logs}
    if as_csv:
        show(render_log_csv(records))
    elif as_json:
        show_json([{"log": name, **each._asdict()} for name, found in records.items() for each in found])
    else:
        show_table(build_log_table(records), wide=wide)
