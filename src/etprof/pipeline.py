"""The stages in order: a plan becomes a session on a device, a session becomes a report."""

import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import etprof
from etprof.analysis.arm_evidence import add_evidence
from etprof.analysis.kernel_counts import SampledBlock
from etprof.analysis.latency import list_samples
from etprof.analysis.layout_changes import find_nodes
from etprof.analysis.model_graph import ModelGraph, parse_graph
from etprof.analysis.sample_tracks import add_sample_tracks
from etprof.analysis.sessions import compare_sessions
from etprof.analysis.summary import ArmKey, build_report
from etprof.core.errors import DependencyError, EtprofError, UsageError
from etprof.core.plan import TRACE, Experiment, Pair, Plan, Schedule, Warmup
from etprof.core.report import Report
from etprof.core.run import DeviceInfo, Job, Session
from etprof.devices.base import Device, runner_flags
from etprof.devices.core_types import read_local_clusters, resolve_cluster
from etprof.devices.local import LocalDevice, local_platform
from etprof.devices.recorded import RecordedDevice
from etprof.export.dependencies import require_pinned
from etprof.measurement import Observer, measure, utc_now
from etprof.reports import pipeline_summary
from etprof.runner.build import ensure_runner
from etprof.runner.cpu_features import host_architecture, present_features, read_cpu_model, read_sme_vector_bits
from etprof.runner.cpu_state import read_governor
from etprof.runner.isa import best_extension
from etprof.runner.stock import build_stock_command, identify_runner
from etprof.store.digest import file_sha256
from etprof.store.json_file import read_json, write_json, write_text
from etprof.store.kernel_files import save_kernels
from etprof.store.layout import (
    export_meta_path,
    graph_path,
    kernels_csv_path,
    pipeline_summary_name,
    robust_stats_path,
    run_folder,
)
from etprof.store.run_folder import check_resumable, prepare_run_folder
from etprof.store.session_file import load_session
from etprof.store.validate import find_problems
from etprof.trace_tables import write_statistics, write_timelines
from etprof.traces.etdump import read_etdump
from etprof.traces.kernel_samples import read_kernel_samples
from etprof.traces.runner_result import read_output_values, read_runner_result
from etprof.traces.stock_log import read_stock_log

RUNNERS = ("auto", "native", "python")
# `python -m` would put the current directory first, where a user's ./executorch checkout hides the installed wheel.
_PYTHON_RUNNER = (
    "import sys; sys.path = [p for p in sys.path if p]; from etprof.runner.python_runner import main; sys.exit(main())"
)


def local_device(runner: str = "auto", progress: Callable[[str], None] = lambda _: None) -> tuple[LocalDevice, str]:
    """This machine with the runner asked for, and a note where it had to be another than the native one."""
    command, note = _choose_runner(runner, progress)
    return LocalDevice(lambda job: _command_for(job, command), local_info()), note


def local_info() -> DeviceInfo:
    return DeviceInfo(
        name="this machine",
        system=f"{platform.system()} {platform.release()}",
        architecture=host_architecture(),
        cpu_model=read_cpu_model(),
        cpu_count=os.cpu_count() or 1,
        features=present_features(),
        sme_vector_bits=read_sme_vector_bits(),
        governor=read_governor(),
        clusters=read_local_clusters(),
    )


def _command_for(job: Job, default: tuple[str, ...]) -> list[str]:
    """The command line of a job: our runner, or the one its experiment names, in the words that one understands."""
    path = job.block.experiment.runner_path
    if path is None:
        # Where nothing can sample, that nothing was sampled is among the report's findings.
        can_sample = sys.platform == "linux" and default != _python_command()
        return [*default, *runner_flags(job if can_sample else replace(job, samples=None))]
    named = identify_runner(path)
    return [str(path), *runner_flags(job)] if named.is_ours else build_stock_command(named, job)


def _read_result(job: Job) -> dict[str, Any]:
    """What the runner said of its block: in its result file, or in the log of a runner that writes none."""
    experiment = job.block.experiment
    if experiment.runner_path is None or identify_runner(experiment.runner_path).is_ours:
        return read_runner_result(job.result)
    log = read_stock_log(job.log.read_text(encoding="utf-8", errors="replace"))
    return {"error": "", **log.block_fields(experiment.warmup.minimum)}


def _choose_runner(runner: str, progress: Callable[[str], None]) -> tuple[tuple[str, ...], str]:
    if runner not in RUNNERS:
        raise UsageError(f"There is no runner {runner!r}.", hint=f"Known: {', '.join(RUNNERS)}.")
    require_pinned(("executorch",), "Running a model here")
    if runner != "python":
        try:
            return ensure_runner(progress).command, ""
        except DependencyError as error:
            if runner == "native":
                raise
            return _python_command(), f"The Python runner was used: {error.message}"
    return _python_command(), "The Python runner was used, as asked for."


def _python_command() -> tuple[str, ...]:
    return (sys.executable, "-c", _PYTHON_RUNNER)


def default_plan(model: Path, output_root: Path | None, schedule: Schedule, device: Device | None = None) -> Plan:
    """The comparison to make when nobody asked for one: the best extension of the device's CPU hidden and shown.

    Without a device it is for this machine. Where times mean nothing, one short block of each arm shows what runs.
    """
    info = device.describe() if device else local_info()
    platform_name = device.platform if device else local_platform()
    extension = best_extension(info.architecture, info.features)
    arm = Experiment("") if info.times_are_real else Experiment("", runs=1, traced_runs=1, warmup=Warmup(0, 0))
    hidden = replace(arm, name=f"{platform_name}_{extension.slug}_off", hide_isa=extension.hide_isa)
    shown = replace(arm, name=f"{platform_name}_{extension.slug}_on")
    return Plan(
        model=model,
        output_root=output_root or run_folder(model, platform_name),
        experiments=(hidden, shown),
        pairs=(Pair(baseline=hidden.name, candidate=shown.name),),
        schedule=schedule if info.times_are_real else replace(schedule, blocks=1, max_blocks=1),
    )


def select_experiments(plan: Plan, names: tuple[str, ...]) -> Plan:
    """The plan with only the named experiments, and the pairs that are still whole."""
    known = [e.name for e in plan.experiments]
    for name in names:
        if name not in known:
            raise UsageError(f"The plan has no experiment {name!r}.", hint=f"It has {', '.join(known)}.")
    return replace(
        plan,
        experiments=tuple(e for e in plan.experiments if e.name in names),
        pairs=tuple(p for p in plan.pairs if p.baseline in names and p.candidate in names),
    )


def run_plan(
    plan: Plan, device: Device, observer: Observer, *, command: str, force: bool = False, resume: bool = False,
    notes: tuple[str, ...] = (),
) -> Session:  # fmt: skip
    """Runs every block of a plan. Results are saved after each, so an interruption keeps what was measured."""
    plan = _find_clusters(plan, device.describe())
    session = begin_session(plan, device, command=command, notes=notes)
    folder = plan.output_root
    if resume:
        older = load_session(folder)
        check_resumable(older, session)
        session = replace(older, plan=session.plan, command=command)
    else:
        prepare_run_folder(folder, force=force)
    return measure(session, device, observer, _read_result)


def _find_clusters(plan: Plan, device: DeviceInfo) -> Plan:
    """The plan with the cores that each experiment's `big`, `little` or `prime` stands for on this device."""
    experiments = tuple(
        replace(e, cpu_affinity=resolve_cluster(e.cpu_cluster, device.clusters)) if e.cpu_cluster else e
        for e in plan.experiments
    )
    return replace(plan, experiments=experiments)


def begin_session(plan: Plan, device: Device, *, command: str, notes: tuple[str, ...]) -> Session:
    """Checks everything that can be checked before time is spent."""
    if not plan.model.is_file():
        raise UsageError(f"There is no model {plan.model}.", hint="Export one first: `etprof export toy_cnn`.")
    meta = _load_export_meta(plan.model)
    inputs = plan.inputs or tuple(plan.model.parent / entry["file"] for entry in meta.get("inputs", ()))
    if not inputs:
        notes = (*notes, f"{plan.model.name} was fed with ones: it has no {export_meta_path(plan.model).name}.")
    for path in inputs:
        if not path.is_file():
            raise UsageError(f"There is no input file {path}.", hint="Export the model again.")
    for experiment in plan.experiments:
        _check_named_runner(experiment)
    return Session(
        plan=replace(plan, inputs=inputs),
        device=device.describe(),
        model_sha256=file_sha256(plan.model),
        inputs_sha256=tuple(file_sha256(path) for path in inputs),
        export_meta=meta,
        versions=installed_versions(),
        command=command,
        started_at=utc_now(),
        notes=tuple(note for note in notes if note),
    )


def _check_named_runner(experiment: Experiment) -> None:
    """What a runner cannot do is said before the first block, not after the last."""
    if experiment.runner_path is None or identify_runner(experiment.runner_path).is_ours:
        return
    if experiment.hide_isa or experiment.mode == TRACE:
        cannot = f"hide {', '.join(experiment.hide_isa)}" if experiment.hide_isa else "trace without timing"
        raise UsageError(
            f"{experiment.name}: {experiment.runner_path} is a stock executor_runner, which cannot {cannot}.",
            hint="Leave out runner_path: our own runner can, and is built in seconds.",
        )


def replay(recording: Path, output_root: Path, observer: Observer, *, force: bool, command: str) -> Session:
    """Runs a stored session's plan again with its recorded answers in place of a runtime."""
    recorded = load_session(recording)
    session = replace(
        recorded,
        plan=replace(recorded.plan, output_root=output_root),
        command=command,
        started_at=utc_now(),
        notes=(*recorded.notes, f"A replay of a run of {recorded.started_at}: nothing was executed."),
        results=(),
    )
    prepare_run_folder(output_root, force=force)
    return measure(session, RecordedDevice(recording, recorded), observer, _read_result)


def analyze(folder: Path, *, title: str = "") -> Report:
    """The report of a finished or interrupted run, from its files alone."""
    session = load_session(folder)
    traces: dict[ArmKey, list[Any]] = {}
    outputs: dict[ArmKey, Any] = {}
    sampled: dict[ArmKey, list[SampledBlock]] = {}
    for result in session.results:
        if not result.is_ok:
            continue
        key = (result.experiment, result.threads)
        if result.etdump:
            traces.setdefault(key, []).append(read_etdump(folder / result.etdump))
        if result.samples:
            sampled.setdefault(key, []).append((read_kernel_samples(folder / result.samples), traces[key][-1]))
        # A stock runner tells no outputs: they are unknown, not none.
        if key not in outputs and not result.is_stock:
            outputs[key] = read_output_values(folder, result)
    if not any(result.is_ok for result in session.results):
        raise EtprofError(f"{folder} holds no block that ended well.", hint="Read the logs, then run the plan again.")
    report = build_report(
        session,
        traces,
        outputs,
        title=title or f"{session.plan.model.stem}: where the time goes",
        created_at=utc_now(),
        graph=_load_graph(session.plan.model),
    )
    return add_sample_tracks(add_evidence(report, session, sampled), sampled)


def check_model(folder: Path, model: Path) -> None:
    """Refuses a model that is not the one the run measured."""
    if not model.is_file():
        raise UsageError(f"There is no model {model}.")
    measured = load_session(folder).model_sha256
    if measured and file_sha256(model) != measured:
        raise UsageError(
            f"{model} is not the model that {folder} measured: the digests differ.",
            hint="Leave out --model, or run the plan again with this model.",
        )


def validate(folder: Path, *, deep: bool) -> list[str]:
    return find_problems(folder, read_etdump if deep else None)


def compare(baseline: Path, candidate: Path) -> Report:
    """Two finished runs in one report, with what keeps them from being a fair pair among its findings."""
    if baseline.resolve() == candidate.resolve():
        raise UsageError(f"{baseline} was given twice; a run cannot be compared with itself.")
    folders = dict(zip(short_labels(baseline, candidate), (baseline, candidate), strict=True))
    return compare_sessions(
        {label: load_session(folder) for label, folder in folders.items()},
        {label: analyze(folder) for label, folder in folders.items()},
        title=f"{candidate} against {baseline}",
    )


def short_labels(one: Path, other: Path) -> tuple[str, str]:
    """What tells two folders apart: their paths without the parts they share in front."""
    parts, others = list(one.resolve().parts), list(other.resolve().parts)
    while len(parts) > 1 and len(others) > 1 and parts[0] == others[0]:
        del parts[0], others[0]
    return "/".join(parts), "/".join(others)


def write_run_files(folder: Path, report: Report) -> None:
    """The files a finished run leaves besides its report: statistics and tables of each arm, and the summary."""
    session = load_session(folder)
    graph = _load_graph(session.plan.model)
    for arm in report.arms:
        if arm.latency:
            results = session.results_of(arm.experiment, arm.threads)
            statistics = {"schema_version": 1, **asdict(arm.latency), "samples_by_block": list_samples(results)}
            write_json(folder / robust_stats_path(arm.experiment, arm.threads), statistics)
        traces = [read_etdump(folder / r.etdump) for r in session.results_of(arm.experiment, arm.threads) if r.etdump]
        if traces and report.times_are_real:
            stem = f"{arm.experiment}_t{arm.threads}"
            write_timelines(folder / arm.experiment, stem, traces, model_id=session.plan.model.stem)
            write_statistics(folder / arm.experiment, stem, traces, nodes=find_nodes(traces, graph))
        if arm.evidence:
            save_kernels(folder / kernels_csv_path(arm.experiment, arm.threads), [arm.evidence])
    stem = session.plan.model.stem
    write_text(folder / pipeline_summary_name(stem, "json"), pipeline_summary.render_json(report, session.stop_reason))
    write_text(
        folder / pipeline_summary_name(stem, "md"), pipeline_summary.render_markdown(report, session.stop_reason)
    )


def installed_versions() -> dict[str, str]:
    versions = {"etprof": etprof.__version__, "python": platform.python_version()}
    for name in ("torch", "executorch", "torchao"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _load_graph(model: Path) -> ModelGraph | None:
    """The node lists of the model, where its export saved them."""
    path = graph_path(model)
    return parse_graph(read_json(path), str(path)) if path.is_file() else None


def _load_export_meta(model: Path) -> dict[str, Any]:
    path = export_meta_path(model)
    value = read_json(path) if path.exists() else {}
    return value if isinstance(value, dict) else {}
