"""What an assistant is answered: the machine, the models, exports and runs, short enough to be read at once."""

import json
import os
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from etprof.app import exploring
from etprof.app.advice import describe_rule, list_rules
from etprof.app.devices import DeviceRequest, parse_device
from etprof.app.doctor import Check, can_run, run_checks
from etprof.app.explaining import explain_program, explain_run
from etprof.app.exploring import ExploreRequest
from etprof.app.forecasting import forecast_analyzed
from etprof.app.history import build_trends
from etprof.app.named_model import export_named, find_export
from etprof.app.peaks import list_peaks
from etprof.app.profiling import RunOptions, profile
from etprof.app.progress import Progress, RunCounter
from etprof.app.reporting import analyze_loaded, analyze_measured, write_report
from etprof.app.runs import build_run
from etprof.app.self_test import run_self_test
from etprof.core import records
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.findings import group_findings
from etprof.core.layout import run_folder
from etprof.core.plan import Schedule
from etprof.core.report import Report, VariantReport
from etprof.core.self_test import SelfCheck
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.foreign import output_to
from etprof.export.registry import DEFAULT_MODELS_DIR, describe_status
from etprof.export.shipped_models import shipped_models
from etprof.mcp.workspace import Workspace
from etprof.reports import (
    FORMATS,
    choice_tables,
    explanation,
    forecast_tables,
    phase_tables,
    program_tables,
    roofline_tables,
    sentences,
    thread_tables,
)
from etprof.reports.history_page import step_sentence, trend_sentence
from etprof.reports.sample_places import evidence_sentence
from etprof.store.history_file import query
from etprof.store.profile_file import load_profile

_MOST_KINDS = 10
_MOST_ROWS = 1000
_WIDTH = 120


@dataclass(frozen=True)
class Machine:
    can_run: bool
    checks: list[Check]


@dataclass(frozen=True)
class Tried:
    """A self-test: `checks` that fail have a hint; what this machine cannot have is `not here`, with the reason."""

    passed: bool
    checks: list[SelfCheck]


@dataclass(frozen=True)
class PeakLine:
    """Multiply-adds of a kind of instruction, or bytes of a level of the memory, at a thread count."""

    name: str
    access: str
    threads: int
    unit: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CpuPeaks:
    """What a CPU can do at most. An emulated one has no peaks: `checked` are the loops that gave the right results."""

    device: str
    cpu: str
    measured_at: str
    peaks: list[PeakLine]
    checked: list[str]


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
class KindLine:
    """The operators of one kind of layer: how many, their time in an inference, and how fast they multiply."""

    kind: str
    operators: int
    mean_ms: float
    share: float
    gmac_per_s: float | None


@dataclass(frozen=True)
class VariantLine:
    """One variant; `categories` are shares of traced time, `kinds` are kinds of layers, the longest time first.

    `memory` has the parts of the peak in bytes, `start_ms` how long a start takes by where the model's file was.
    """

    label: str
    median_ms: float | None
    p95_ms: float | None
    blocks: int
    peak_bytes: int | None
    memory: dict[str, int]
    start_ms: dict[str, float]
    categories: dict[str, float]
    kinds: list[KindLine]


@dataclass(frozen=True)
class Analysis:
    """What a run says, short enough to be read at once; `subjects` are what can be explained further.

    `threads` has the answers of a run at several thread counts, `phases` those of a workload; `roofline` says how far
    each variant is from what its CPU can do, or what is missing to tell.
    """

    run_dir: str
    model: str
    times_are_real: bool
    verdicts: list[str]
    bottlenecks: list[str]
    variants: list[VariantLine]
    kernels: list[str]
    next_steps: list[str]
    findings: list[str]
    subjects: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    roofline: list[str] = field(default_factory=list)


def doctor() -> Machine:
    checks = run_checks()
    return Machine(can_run(checks), checks)


def self_test(device: str, progress: Progress) -> Tried:
    def tell(text: str) -> None:
        progress(0, None, text)

    found = run_self_test(replace(parse_device(device), wait=False, progress=tell), tell)
    return Tried(found.passed, list(found.checks))


def measure_peaks(device: str, progress: Progress, *, again: bool) -> CpuPeaks:
    request = replace(parse_device(device), wait=False, progress=lambda text: progress(0, None, text))
    found = list_peaks(request, again=again)
    return CpuPeaks(
        found.device.name,
        found.device.cpu_model,
        found.peaks.measured_at if found.peaks else "",
        [PeakLine(*record) for record in records.list_peaks(found.peaks)] if found.peaks else [],
        [each.name for each in found.checked],
    )


def list_known_models(workspace: Workspace) -> KnownModels:
    """The models by name. A models folder holds Python code, which a list is no reason to execute."""
    folder = workspace.inside(DEFAULT_MODELS_DIR)
    folders = sorted(path.parent.name for path in folder.glob("*/model.py"))
    with output_to(Path(os.devnull)):
        shipped = [entry for entry in shipped_models() if entry.is_offered]
    return KnownModels(
        [
            *(ModelLine(name, "models folder", "not inspected") for name in folders),
            *(ModelLine(e.name, e.origin, describe_status(e)) for e in shipped),
        ]
    )


def export(workspace: Workspace, request: ExportRequest, progress: Progress) -> Exported:
    models = workspace.inside(DEFAULT_MODELS_DIR)
    request = replace(request, models_dir=models if models.is_dir() else None)
    workspace.target_folder(request.folder)
    stages: list[str] = []

    def report(stage: str) -> None:
        stages.append(stage)
        progress(len(stages), None, stage)

    artifact = export_model(request, report)
    meta = artifact.meta
    return Exported(
        model=str(artifact.pte),
        bytes=meta.pte.bytes,
        partitions=meta.delegation.partitions,
        delegated_share=meta.delegation.delegated_share,
        snr_db=meta.numerics.worst_snr_db,
        reused=artifact.reused,
    )


def run(
    workspace: Workspace, model: str, progress: Progress, *, device: str, schedule: Schedule, output_root: str,
    options: RunOptions, threads: tuple[int, ...] = (1,), workload: str = "",
) -> Analysis:  # fmt: skip
    """Profiles a model on a device with its best extension hidden and shown, and writes the report."""
    # Who waits here for another run cannot be told to stop, and all other tools would wait too.
    request = replace(parse_device(device), wait=False, progress=lambda text: progress(0, None, text))
    path = _ready_model(workspace, model, request)
    # Beside the model, where the run goes by default, nothing may lead out of the workspace either.
    folder = workspace.target_folder(output_root) if output_root else None
    workspace.target_folder(run_folder(path, ""))
    with workspace.confined():
        measured = profile(
            path, request, RunCounter(progress), options, output_root=folder, schedule=schedule, threads=threads,
            workload=workspace.load_workload(workload) if workload else None,
        )  # fmt: skip
        analysis = analyze_measured(measured)
        write_report(analysis)
    return _summarize(analysis.report, analysis.run.folder)


def explore(
    workspace: Workspace, asked: ExploreRequest, device: str, progress: Progress, options: RunOptions
) -> Analysis:
    """Exports a model in several precisions, races the builds, and writes the report."""
    request = replace(parse_device(device), wait=False, progress=lambda text: progress(0, None, text))
    models = workspace.inside(DEFAULT_MODELS_DIR)
    asked = replace(asked, builds=replace(asked.builds, models_dir=models if models.is_dir() else None))
    for folder in (asked.builds.plain.folder, asked.output_root or run_folder(asked.builds.plain.pte, "")):
        workspace.target_folder(folder)
    with workspace.confined():
        measured = exploring.explore(asked, request, nullcontext(RunCounter(progress)), options)
        analysis = analyze_measured(measured)
        write_report(analysis)
    return _summarize(analysis.report, analysis.run.folder)


def _ready_model(workspace: Workspace, model: str, device: DeviceRequest) -> Path:
    """The file that is named, or that of a model's name, which is exported first."""
    models = workspace.inside(DEFAULT_MODELS_DIR)
    wanted = find_export(model)
    if wanted is None:
        return workspace.model_file(model)
    workspace.target_folder(wanted.folder)
    return export_named(replace(wanted, models_dir=models if models.is_dir() else None), device)


def analyze_run(workspace: Workspace, run_dir: str) -> Analysis:
    folder, report = _build_report(workspace, run_dir)
    return _summarize(report, folder)


def render_report(workspace: Workspace, run_dir: str, name: str) -> str:
    if name not in FORMATS:
        raise UnknownNameError("report format", name, FORMATS, hint=f"Known formats: {', '.join(FORMATS)}.")
    return FORMATS[name].render(_build_report(workspace, run_dir)[1])


def explain(workspace: Workspace, run_dir: str, subject: str) -> str:
    if subject in {rule.id for rule in list_rules()}:
        return describe_rule(subject)
    return explanation.render(_build_report(workspace, run_dir)[1], subject)


def explain_model(workspace: Workspace, target: str, method: str) -> str:
    """A .pte or a finished run: which kernels its layers take, why not better ones, and what to do."""
    with workspace.confined():
        if workspace.inside(target).is_dir():
            folder, session = workspace.load_session(target)
            explained = explain_run(build_run(folder, session), method)
        else:
            explained = explain_program(workspace.model_file(target), method)
    return "\n".join([explained.render(_WIDTH), *explained.list_advice()])


def forecast(workspace: Workspace, run_dir: str, profile: str, source: str, variant: str) -> str:
    """Of a finished run for the device of a profile."""
    with workspace.confined():
        folder, session = workspace.load_session(run_dir)
        analysis = analyze_loaded(build_run(folder, session))
        target = load_profile(workspace.inside(profile))
        own = load_profile(workspace.inside(source)) if source else None
        return forecast_tables.render_text(forecast_analyzed(analysis, target, source=own, variant=variant), _WIDTH)


def describe_history(workspace: Workspace, file: str, model: str, sql: str) -> str:
    """Trends in sentences, or the answer to a query as JSON."""
    with workspace.private_copy(file) as path:
        if sql:
            answer = query(path, sql, most_rows=_MOST_ROWS)
            return json.dumps([dict(zip(answer.columns, row, strict=True)) for row in answer.rows], default=str)
        trends = build_trends(path, model)
    lines: list[str] = []
    for trend in trends:
        lines.append(f"{trend.model}, {trend.variant}, {trend.device}: {trend_sentence(trend)}")
        lines += [f"- {step_sentence(trend, step)}" for step in trend.steps]
    return "\n".join(lines)


def _build_report(workspace: Workspace, run_dir: str) -> tuple[Path, Report]:
    with workspace.confined():
        folder, session = workspace.load_session(run_dir)
        return folder, analyze_loaded(build_run(folder, session)).report


def open_workspace(folder: Path) -> Workspace:
    """Makes the folder the current one, so that every relative path of a model or a run leads from there."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", hint="Give --workspace an existing folder.")
    root = folder.resolve()
    os.chdir(root)
    return Workspace(root)


def _summarize(report: Report, folder: Path) -> Analysis:
    return Analysis(
        run_dir=str(folder),
        model=report.model,
        times_are_real=report.times_are_real,
        verdicts=_list_verdicts(report),
        bottlenecks=[
            text
            for c in report.comparisons
            for text in (sentences.bottleneck_sentence(c), sentences.slower_sentence(c))
            if text
        ],
        variants=[_describe_variant(variant) for variant in report.variants],
        kernels=[f"{each.label}: {evidence_sentence(each.evidence)}" for each in report.variants if each.evidence],
        next_steps=[
            f"{step.title}: {sentences.gain_sentence(step)}. {step.advice} Rule: {step.rule}."
            for step in report.next_steps
        ],
        findings=[
            f"{sentences.finding_title(group)}: {sentences.finding_sentence(group)}"
            for group in group_findings(report.findings)
        ],
        subjects=explanation.list_subjects(report),
        threads=thread_tables.list_all(report.scaling) if report.scaling else [],
        phases=phase_tables.list_all(report),
        roofline=roofline_tables.list_sentences(report),
    )


def _list_verdicts(report: Report) -> list[str]:
    if report.choice:
        return [*choice_tables.list_answers(report.choice), *choice_tables.list_reasons(report.choice)]
    compared = [sentences.verdict_sentence(comparison) for comparison in report.comparisons]
    return [*(compared or [sentences.NO_PAIR]), *program_tables.list_sentences(report)]


def _describe_variant(variant: VariantReport) -> VariantLine:
    latency = variant.latency
    return VariantLine(
        label=variant.label,
        median_ms=latency.median_ms if latency else None,
        p95_ms=latency.p95_ms if latency else None,
        blocks=latency.blocks if latency else 0,
        peak_bytes=variant.peak_bytes,
        memory={part.name: part.bytes for part in variant.memory.parts} if variant.memory else {},
        start_ms={each.cached.value: each.total_ms for each in variant.memory.starts} if variant.memory else {},
        categories={row.name: round(row.share, 4) for row in variant.categories},
        kinds=[
            KindLine(row.name, row.count, row.mean_ms, round(row.share, 4), row.gmac_per_s)
            for row in variant.rollups.get("kind", ())[:_MOST_KINDS]
        ],
    )
