"""`etprof kernels`: which kernels each operator really executed, by samples of the program counter."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etprof.cli.console import command_line, say, show, show_sentence, show_table
from etprof.cli.options import (
    DeviceFolderOption,
    DeviceOption,
    DryRunOption,
    EmulatorOption,
    ForceOption,
    KeepOption,
    NoWaitOption,
    OutputRootOption,
    PrepareOption,
    ResumeOption,
    RunnerBundleOption,
    WideOption,
    one_run_dir,
)
from etprof.core.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest
    from etprof.app.runs import MeasuredRun
    from etprof.core.kernel_evidence import KernelEvidence
    from etprof.core.report import Report

app = typer.Typer(no_args_is_help=True)

_SHOWN = 15
TableOption = Annotated[Path | None, typer.Option("--out", help="Write the table as CSV there too.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show all operators.")]


@app.command("run")
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The .pte to sample.")],
    device: DeviceOption = "local",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    keep_on_device: KeepOption = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads XNNPACK may use.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="How long to sample in each block.")] = 2.0,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per variant.")] = 2,
    output_root: OutputRootOption = None,
    table: TableOption = None,
    force: ForceOption = False,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
    dry_run: DryRunOption = False,
    verbose: VerboseOption = False,
    wide: WideOption = False,
) -> None:
    """Sample a model with the CPU's best extension shown and hidden, and show which kernels executed."""
    from etprof.app.profiling import RunOptions, sample_kernels
    from etprof.cli.options import build_request, refuse_force_and_resume
    from etprof.cli.progress import RunProgress

    refuse_force_and_resume(force, resume)
    request = build_request(
        device, runner="native" if device == "local" else "auto", folder=device_folder, emulator=emulator,
        bundle=runner_bundle, prepare=prepare, keep=keep_on_device, wait=not no_wait,
    )  # fmt: skip
    options: dict[str, Any] = {
        "output_root": output_root, "threads": threads, "blocks": blocks, "seconds": seconds,
    }  # fmt: skip
    if dry_run:
        _show_plan(model, request, options)
        return
    with RunProgress() as progress:
        measured = sample_kernels(
            model, request, progress, RunOptions(command_line(), force=force, resume=resume), **options
        )
    show_sampled(measured, table, None if verbose else _SHOWN, wide)


def show_sampled(
    measured: "MeasuredRun", table: Path | None = None, limit: int | None = _SHOWN, wide: bool = False
) -> None:
    """Writes the report and shows, for each variant, which operators executed the extension's kernels."""
    from etprof.app.reporting import analyze_measured
    from etprof.cli.report import write_and_show

    analysis = analyze_measured(measured)
    write_and_show(analysis)
    _show_report(analysis.report, str(analysis.run.folder), table, limit, wide)


def _show_plan(model: Path, request: "DeviceRequest", options: dict[str, Any]) -> None:
    from functools import partial

    from etprof.app.named_model import require_model
    from etprof.app.plans import build_kernel_plan
    from etprof.app.profiling import plan_for
    from etprof.cli.run import show_schedule

    require_model(model)
    show_schedule(plan_for(request, partial(build_kernel_plan, model, **options)))


@app.command("import")
def import_recording(
    recording: Annotated[
        Path, typer.Argument(metavar="RECORDING", help="Text of `perf script` or `simpleperf report-sample`.")
    ],
    architecture: Annotated[str, typer.Option(help="arm64 or x86_64, where it was recorded.")] = "arm64",
    read_binaries: Annotated[
        bool, typer.Option("--read-binaries", help="Open the libraries that the recording names, for their code.")
    ] = False,
    table: TableOption = None,
    verbose: VerboseOption = False,
    wide: WideOption = False,
) -> None:
    """Read the samples that perf or simpleperf took of any runner."""
    from etprof.analysis.kernels.imported_functions import build_imported_evidence
    from etprof.core.extensions import EXTENSIONS
    from etprof.store.paths import require_file
    from etprof.traces.perf_script import read_perf_script

    if architecture not in EXTENSIONS:
        raise UnknownNameError("architecture", architecture, EXTENSIONS, hint=f"Known: {', '.join(EXTENSIONS)}.")
    require_file(recording, "recording", hint="It is what `perf script` or `simpleperf report-sample` prints.")
    evidence = build_imported_evidence(
        recording.name, read_perf_script(recording, architecture, reads_files=read_binaries)
    )
    _show([evidence], table, None if verbose else _SHOWN, wide)
    say("note: a recording does not know ExecuTorch's operators; its functions stand for themselves.")


@app.command()
def view(
    run_dir: Annotated[
        Path | None, typer.Argument(metavar="RUN_DIR", help="Folder of a run that sampled.", show_default=False)
    ] = None,
    on: Annotated[
        Path | None, typer.Option("--on", "--sme2-on", help="The *_kernels.csv of the variant with the extension.")
    ] = None,
    off: Annotated[
        Path | None, typer.Option("--off", "--sme2-off", help="The *_kernels.csv of the variant without it.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--out", help="With --on and --off: .md or .csv. With a run: the table as CSV.")
    ] = None,
    filter_op: Annotated[
        str, typer.Option(help="With --on and --off: operators whose name holds this text only.", metavar="TEXT")
    ] = "",
    title: Annotated[str, typer.Option(help="With --on and --off: heading of the Markdown page.")] = "",
    verbose: VerboseOption = False,
    wide: WideOption = False,
) -> None:
    """Show the kernels of a run that sampled, or those of two tables side by side, operator by operator."""
    if run_dir is not None and not (on or off or filter_op or title):
        from etprof.app.reporting import analyze

        analysis = analyze(one_run_dir(run_dir))
        _show_report(analysis.report, str(run_dir), target, None if verbose else _SHOWN, wide)
    elif run_dir is None and on and off and target:
        from etprof.app.kernel_views import write_kernel_view

        summary = write_kernel_view(on, off, target, title=title, operator=filter_op)
        show(f"{summary}: {target}")
    else:
        raise UsageError(
            "Give the folder of a run, or two tables and a file.",
            hint="etprof kernels view RUN_DIR, or: etprof kernels view --on ON.csv --off OFF.csv --out VIEW.md",
        )


@app.command("log")
def read_log(
    log: Annotated[Path, typer.Option("--xnntrace", help="The debug log of a runner of your own build.")],
    target: Annotated[Path, typer.Option("--out", help="Where the table goes (CSV).")],
    model_id: Annotated[str, typer.Option(help="What to write into the column model_id.")] = "",
) -> None:
    """List the kernels of an XNNPACK debug log. They were registered, which does not mean that they executed."""
    from etprof.app.kernel_views import write_registered_kernels
    from etprof.core.samples import REGISTERED

    show(f"{write_registered_kernels(log, target, model_id=model_id)} kernels, {REGISTERED}: {target}")
    say("note: registered is not executed; `etprof kernels run MODEL.pte` samples what executes.")


def _show_report(report: "Report", where: str, table: Path | None, limit: int | None, wide: bool) -> None:
    from etprof.core.findings import group_findings
    from etprof.reports.sentences import finding_sentence

    evidences = [variant.evidence for variant in report.variants if variant.evidence]
    if not evidences:
        raise UsageError(
            f"{where} holds no kernel samples.",
            hint="Sample it: etprof kernels run MODEL.pte, or `mode: trace` in a plan.",
        )
    _show(evidences, table, limit, wide)
    for group in group_findings(report.findings):
        show_sentence(f"finding: {finding_sentence(group)}", indent="  ")


def _show(evidences: "list[KernelEvidence]", table: Path | None, limit: int | None, wide: bool) -> None:
    from etprof.cli.kernel_tables import evidence_lines, evidence_tables, reason_lines
    from etprof.store.kernel_files import save_kernels

    for evidence in evidences:
        for line in evidence_lines(evidence):
            show_sentence(line, indent="    ")
        for each in evidence_tables(evidence, limit):
            show_table(each, wide=wide)
        for line in reason_lines(evidence):
            show_sentence(line, indent="    ")
    if table:
        save_kernels(table, evidences)
        show(str(table))
