"""`etprof kernels`: which kernels each operator really executed, by samples of the program counter."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import command_line, err, out
from etprof.core.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from etprof.core.report import KernelEvidence, Report


def command(
    target: Annotated[
        Path | None, typer.Argument(help="A .pte to sample, or the folder of a run that sampled.", show_default=False)
    ] = None,
    imported: Annotated[
        Path | None,
        typer.Option("--import", help="Read the text of `perf script` or `simpleperf report-sample` instead."),
    ] = None,
    architecture: Annotated[str, typer.Option(help="With --import: arm64 or x86_64, where it was recorded.")] = "arm64",
    device: Annotated[str, typer.Option(help="Where to run: local, emulated, android, ssh:USER@HOST.")] = "local",
    threads: Annotated[int, typer.Option(min=1, help="Threads XNNPACK may use.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="How long to sample in each block.")] = 2.0,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per arm.")] = 2,
    output_root: Annotated[Path | None, typer.Option(help="Folder for the run; default: beside the artifacts.")] = None,
    table: Annotated[Path | None, typer.Option("--out", help="Write the table as CSV there too.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Move an older run in that folder aside.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all operators.")] = False,
) -> None:
    """Prove which kernels ran: samples a model with this CPU's best extension shown and hidden."""
    if (target is None) == (imported is None):
        raise UsageError("Name a .pte, a run's folder, or a recording with --import.", hint="etprof kernels model.pte")
    if imported:
        _import(imported, architecture, table, None if verbose else 15)
        return
    assert target is not None  # one of the two was given, and it was not the other
    folder = target
    if not target.is_dir():
        folder = _sample(target, device, output_root, threads=threads, seconds=seconds, blocks=blocks, force=force)
    report = _analyze(folder)
    evidences = [arm.evidence for arm in report.arms if arm.evidence]
    if not evidences:
        raise UsageError(
            f"{folder} holds no kernel samples.",
            hint="Sample it: etprof kernels MODEL.pte, or `mode: trace` in a plan.",
        )
    _show(evidences, table, None if verbose else 15)
    for finding in report.findings:
        out.print(f"finding: {finding.message} {finding.advice}", markup=False)


def _sample(
    model: Path, device: str, output_root: Path | None, *, threads: int, seconds: float, blocks: int, force: bool
) -> Path:
    from dataclasses import replace

    from etprof.cli.progress import RunProgress
    from etprof.cli.report import write_report
    from etprof.device_choice import open_device, parse_device
    from etprof.pipeline import run_plan, write_run_files
    from etprof.sampled_plan import build_kernel_plan

    if not model.is_file():
        raise UsageError(f"There is no model {model}.", hint="Export one first: `etprof export toy_cnn`.")
    runner = "native" if device == "local" else "auto"
    request = replace(parse_device(device), runner=runner, progress=lambda text: err.print(text, markup=False))
    with open_device(request) as opened:
        plan = build_kernel_plan(
            model, output_root, opened.device.describe(), opened.device.platform,
            threads=threads, blocks=blocks, seconds=seconds,
        )  # fmt: skip
        with RunProgress(show_times=opened.device.describe().times_are_real) as progress:
            session = run_plan(
                plan, opened.device, progress, command=command_line(), force=force, notes=tuple(opened.notes)
            )
    folder = session.plan.output_root
    write_run_files(folder, write_report(folder, show=False))
    return folder


def _analyze(folder: Path) -> "Report":
    from etprof.pipeline import analyze

    return analyze(folder)


def _show(evidences: "list[KernelEvidence]", table: Path | None, limit: int | None) -> None:
    from etprof.cli.kernel_tables import evidence_lines, evidence_tables, reason_lines
    from etprof.store.kernel_files import save_kernels

    for evidence in evidences:
        for line in evidence_lines(evidence):
            out.print(line, markup=False)
        for each in evidence_tables(evidence, limit):
            out.print(each)
        for line in reason_lines(evidence):
            out.print(line, markup=False)
    if table:
        save_kernels(table, evidences)
        out.print(str(table), markup=False)


def _import(recording: Path, architecture: str, table: Path | None, limit: int | None) -> None:
    from etprof.analysis.extensions import EXTENSIONS
    from etprof.analysis.imported_kernels import build_imported_evidence
    from etprof.traces.perf_script import read_perf_script

    if architecture not in EXTENSIONS:
        raise UnknownNameError("architecture", architecture, EXTENSIONS, hint=f"Known: {', '.join(EXTENSIONS)}.")
    _show([build_imported_evidence(recording.name, read_perf_script(recording, architecture))], table, limit)
    err.print("note: a recording does not know ExecuTorch's operators; its functions stand for themselves.")
