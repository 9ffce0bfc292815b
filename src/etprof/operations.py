"""What an assistant can do in a workspace, as plain functions: look at the machine, read runs, export and run."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from etprof.core.errors import UsageError
from etprof.core.plan import Block, Schedule
from etprof.core.report import ArmReport, Report
from etprof.core.run import BlockResult
from etprof.devices.local import local_platform
from etprof.doctor import Check, can_run, run_checks
from etprof.export.dependencies import install_command, missing_packages
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.foreign import output_to
from etprof.export.registry import DEFAULT_MODELS_DIR
from etprof.export.wheel_models import wheel_models
from etprof.pipeline import analyze, default_plan, local_device, run_plan, write_run_files
from etprof.report_files import write_all
from etprof.reports import FORMATS, explanation, sentences
from etprof.store.layout import run_folder
from etprof.workspace import Workspace

# How far, of how much where that is known, and what is going on.
Progress = Callable[[float, float | None, str], None]

TextFormat = Literal["md", "console", "json", "csv"]


@dataclass(frozen=True)
class Machine:
    can_run: bool
    checks: list[Check]


@dataclass(frozen=True)
class ModelLine:
    name: str
    origin: str
    status: str


@dataclass(frozen=True)
class KnownModels:
    models: list[ModelLine]


@dataclass(frozen=True)
class Exported:
    """An exported model; `snr_db` is against eager fp32, and None where the outputs are the same to the bit."""

    model: str
    bytes: int
    partitions: int
    delegated_share: float
    snr_db: float | None
    reused: bool


@dataclass(frozen=True)
class ArmLine:
    """One arm; `categories` are shares of traced time."""

    label: str
    median_ms: float | None
    p95_ms: float | None
    blocks: int
    peak_bytes: int | None
    categories: dict[str, float]


@dataclass(frozen=True)
class Analysis:
    """What a run says, short enough to be read at once; `subjects` are what can be explained further."""

    run_dir: str
    model: str
    times_are_real: bool
    verdicts: list[str]
    bottlenecks: list[str]
    arms: list[ArmLine]
    kernels: list[str]
    next_steps: list[str]
    findings: list[str]
    subjects: list[str] = field(default_factory=list)


def doctor() -> Machine:
    checks = run_checks()
    return Machine(can_run(checks), checks)


def list_known_models(workspace: Workspace) -> KnownModels:
    """The models by name. A models folder holds Python code, which a list is no reason to execute."""
    folder = workspace.inside(DEFAULT_MODELS_DIR)
    folders = sorted(path.parent.name for path in folder.glob("*/model.py"))
    with output_to(Path(os.devnull)):
        shipped = [entry for entry in wheel_models() if entry.is_offered]
    return KnownModels(
        [
            *(ModelLine(name, "models folder", "not looked into") for name in folders),
            *(ModelLine(e.name, e.origin, _status(e.requires)) for e in shipped),
        ]
    )


def export(workspace: Workspace, model: str, progress: Progress, *, dtype: str, backend: str, outdir: str) -> Exported:
    models = workspace.inside(DEFAULT_MODELS_DIR)
    request = ExportRequest(
        model=model, dtype=dtype, backend=backend, outdir=Path(outdir) if outdir else None, save_graph=True,
        models_dir=models if models.is_dir() else None,
    )  # fmt: skip
    workspace.target_folder(request.folder)
    stages: list[str] = []

    def report(stage: str) -> None:
        stages.append(stage)
        progress(len(stages), None, stage)

    artifact = export_model(request, report)
    meta: Any = artifact.meta
    return Exported(
        model=str(artifact.pte),
        bytes=meta["pte"]["bytes"],
        partitions=meta["delegation"]["partitions"],
        delegated_share=meta["delegation"]["delegated_share"],
        snr_db=meta["numerics"]["worst_snr_db"],
        reused=artifact.reused,
    )


def run(
    workspace: Workspace, model: str, progress: Progress, *, schedule: Schedule, output_root: str, force: bool
) -> Analysis:
    """Profiles a model on this machine with its best extension hidden and shown, and writes the report."""
    path = workspace.model_file(model)
    folder = workspace.target_folder(output_root or run_folder(path, local_platform()))
    plan = default_plan(path, folder, schedule)
    device, note = local_device("auto", lambda text: progress(0, None, text))
    session = run_plan(plan, device, _Teller(progress), command="etprof mcp: run", force=force, notes=(note,))
    report = analyze(session.plan.output_root)
    write_all(report, folder)
    write_run_files(folder, report)
    return _summarize(report, folder)


def analyze_run(workspace: Workspace, run_dir: str) -> Analysis:
    folder = workspace.run_folder(run_dir)
    return _summarize(analyze(folder), folder)


def render_report(workspace: Workspace, run_dir: str, name: TextFormat) -> str:
    return FORMATS[name](analyze(workspace.run_folder(run_dir)))


def explain(workspace: Workspace, run_dir: str, subject: str) -> str:
    return explanation.render(analyze(workspace.run_folder(run_dir)), subject)


def open_workspace(folder: Path) -> Workspace:
    """Makes the folder the current one, so that every relative path of a model or a run leads from there."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", hint="Give --workspace a folder that is there.")
    root = folder.resolve()
    os.chdir(root)
    return Workspace(root)


def _status(requires: tuple[str, ...]) -> str:
    missing = missing_packages(requires)
    return f"run: {install_command(missing)}" if missing else "ready"


def _summarize(report: Report, folder: Path) -> Analysis:
    return Analysis(
        run_dir=str(folder),
        model=report.model,
        times_are_real=report.times_are_real,
        verdicts=[sentences.verdict_sentence(c) for c in report.comparisons] or [sentences.NO_PAIR],
        bottlenecks=[text for c in report.comparisons if (text := sentences.bottleneck_sentence(c))],
        arms=[_describe_arm(arm) for arm in report.arms],
        kernels=[f"{arm.label}: {arm.evidence.verdict}" for arm in report.arms if arm.evidence],
        next_steps=[f"{step.title}: {sentences.gain_sentence(step)}. {step.advice}" for step in report.next_steps],
        findings=[f"{f.kind}: {f.message} {f.advice}".rstrip() for f in report.findings],
        subjects=explanation.list_subjects(report),
    )


def _describe_arm(arm: ArmReport) -> ArmLine:
    latency = arm.latency
    return ArmLine(
        label=arm.label,
        median_ms=latency.median_ms if latency else None,
        p95_ms=latency.p95_ms if latency else None,
        blocks=latency.blocks if latency else 0,
        peak_bytes=arm.peak_bytes,
        categories={row.name: round(row.share, 4) for row in arm.categories},
    )


class _Teller:
    """Observes a run and tells how far it is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = self._total = 0

    def run_started(self, rounds: int, arms: int, done: int) -> None:
        self._done, self._total = done, rounds * arms

    def block_started(self, block: Block) -> None:
        self._progress(self._done, self._total, f"{block.key}, block {block.index + 1}")

    def block_retried(self, block: Block, reason: str) -> None:
        self._progress(self._done, self._total, f"{block.key}, block {block.index + 1}: {reason}; trying again")

    def block_ended(self, result: BlockResult) -> None:
        self._done += 1
        self._total = max(self._total, self._done)
