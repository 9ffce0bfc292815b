"""Runs the blocks of a plan on a device, one after the other, and keeps every result as soon as it is there."""

import importlib.metadata
import platform
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import etprof
from etprof.analysis.timing.speedup import estimate_speedup, log_ratios
from etprof.app.runs import MeasuredRun
from etprof.app.schedule import build_round, build_rounds, reason_to_stop
from etprof.core.digest import file_sha256
from etprof.core.errors import StoreError, TraceError, UsageError
from etprof.core.layout import block_files, export_meta_path
from etprof.core.plan import TIMING, TRACE, Block, Experiment, Plan
from etprof.core.report import Interval
from etprof.core.run import BlockResult, DeviceInfo, Job, JobOutcome, RunnerResult, Session
from etprof.core.trace import Trace
from etprof.core.units import format_ns, format_percent
from etprof.devices.base import Device, merge_states
from etprof.devices.core_types import resolve_cluster
from etprof.devices.recorded import RecordedDevice
from etprof.export.meta import load_meta
from etprof.runner.stock import identify_runner
from etprof.store.run_folder import check_resumable, prepare_run_folder
from etprof.store.session_file import load_session, save_session
from etprof.traces.etdump import read_etdump
from etprof.traces.runner_result import read_runner_result
from etprof.traces.stock_log import read_stock_log

_LOG_TAIL_LINES = 8
_FREQUENCY_MOVED = 0.10
_HOT_C = 95.0
_SHORTEST_PAUSE_S = 5.0


class Observer(Protocol):
    """Who is told how a run goes on."""

    def run_started(self, plan: Plan, done: int, *, times_are_real: bool) -> None: ...

    def block_started(self, block: Block) -> None: ...

    def block_retried(self, block: Block, reason: str) -> None: ...

    def block_ended(self, result: BlockResult) -> None: ...


def run_plan(
    plan: Plan, device: Device, observer: Observer, *, command: str, force: bool = False, resume: bool = False,
    notes: tuple[str, ...] = (),
) -> MeasuredRun:  # fmt: skip
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
    return measure(session, device, observer)


def replay(recording: Path, output_root: Path, observer: Observer, *, force: bool, command: str) -> MeasuredRun:
    """Runs a stored session's plan again with its recorded answers in place of a runtime."""
    recorded = load_session(recording)
    session = replace(
        recorded,
        plan=replace(recorded.plan, output_root=output_root),
        command=command,
        started_at=utc_now(),
        notes=(*recorded.notes, f"A replay of a run of {recorded.started_at}: nothing was executed."),
        reports=(),
        results=(),
    )
    prepare_run_folder(output_root, force=force)
    return measure(session, RecordedDevice(recording, recorded), observer)


def begin_session(plan: Plan, device: Device, *, command: str, notes: tuple[str, ...]) -> Session:
    """Checks everything that can be checked before time is spent."""
    if not plan.model.is_file():
        raise UsageError(f"There is no model {plan.model}.", hint="Export one first: `etprof export toy_cnn`.")
    meta = load_meta(plan.model)
    inputs = plan.inputs or tuple(plan.model.parent / each.file for each in (meta.inputs if meta else ()))
    if not inputs:
        notes = (*notes, f"{plan.model.name}: inputs filled with ones; it has no {export_meta_path(plan.model).name}.")
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


def _find_clusters(plan: Plan, device: DeviceInfo) -> Plan:
    """The plan with the cores that each experiment's `big`, `little` or `prime` stands for on this device."""
    experiments = tuple(
        replace(e, cpu_affinity=resolve_cluster(e.cpu_cluster, device.clusters)) if e.cpu_cluster else e
        for e in plan.experiments
    )
    return replace(plan, experiments=experiments)


def _check_named_runner(experiment: Experiment) -> None:
    """What a runner cannot do is said before the first block, not after the last."""
    if experiment.runner_path is None or identify_runner(experiment.runner_path).is_ours:
        return
    if experiment.hide_isa or experiment.mode == TRACE:
        cannot = f"hide {', '.join(experiment.hide_isa)}" if experiment.hide_isa else "trace without timing"
        raise UsageError(
            f"{experiment.name}: {experiment.runner_path} is a stock executor_runner, which cannot {cannot}.",
            hint="Omit runner_path: our own runner can, and is built in seconds.",
        )


def installed_versions() -> dict[str, str]:
    versions = {"etprof": etprof.__version__, "python": platform.python_version()}
    for name in ("torch", "executorch", "torchao"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def measure(session: Session, device: Device, observer: Observer) -> MeasuredRun:
    """Runs what the session's plan asks for and the session does not hold yet; saves after every block."""
    plan, folder = session.plan, session.plan.output_root
    session = replace(session, results=tuple(r for r in session.results if r.is_ok), stop_reason="", ended_at="")
    save_session(folder, session)
    observer.run_started(plan, len(session.results), times_are_real=session.device.times_are_real)
    measured = MeasuredRun(session)
    start, rounds = time.monotonic(), 0
    planned = build_rounds(plan)
    while not (reason := reason_to_stop(plan, rounds, _speedups(measured.session), time.monotonic() - start)):
        blocks = planned[rounds] if rounds < len(planned) else build_round(plan, rounds)
        for block in blocks:
            measured = _measure_block(block, measured, device, observer)
        # A sequential plan is over after its one long round.
        rounds = plan.schedule.blocks if len(planned) == 1 else rounds + 1
    session = replace(measured.session, stop_reason=reason, ended_at=utc_now())
    save_session(folder, session)
    return replace(measured, session=session)


def _measure_block(block: Block, measured: MeasuredRun, device: Device, observer: Observer) -> MeasuredRun:
    session = measured.session
    if any((r.variant, r.index) == (block.variant, block.index) for r in session.results):
        return measured
    schedule = session.plan.schedule
    observer.block_started(block)
    time.sleep(schedule.cooldown_s)
    result, trace = _run_block(block, session, device)
    retried = list(result.retried)
    tries_left = schedule.retries if session.device.times_are_real else 0
    while tries_left and (reason := find_disturbance(result, session.device.cpu_count)):
        tries_left -= 1
        retried.append(f"{reason}; median {format_ns(_median(result.latency_ns))}")
        observer.block_retried(block, reason)
        time.sleep(max(schedule.cooldown_s, _SHORTEST_PAUSE_S))
        result, trace = _run_block(block, session, device)
        retried += result.retried
    result, saved = _keep(replace(result, retried=tuple(retried)), session)
    observer.block_ended(result)
    traces = {**measured.traces, result.etdump: trace} if trace and result.etdump and result.is_ok else measured.traces
    return MeasuredRun(saved, traces)


def _keep(result: BlockResult, session: Session) -> tuple[BlockResult, Session]:
    """Saves a block. One that fills the disk has failed: its own files are removed so that the record fits."""
    folder = session.plan.output_root
    saved = replace(session, results=(*session.results, result))
    try:
        save_session(folder, saved)
    except StoreError as error:
        files = block_files(result.variant, result.index)
        for path in (files.result, files.etdump, files.samples):
            (folder / path).unlink(missing_ok=True)
        shutil.rmtree(folder / files.outputs, ignore_errors=True)
        result = replace(result, error=result.error or error.message, etdump="", samples="", outputs=())
        saved = replace(session, results=(*session.results, result))
        # If there is still no space, the next save may find some; the last one of the run reports it.
        with suppress(StoreError):
            save_session(folder, saved)
    return result, saved


def find_disturbance(result: BlockResult, cpu_count: int) -> str:
    """What spoiled a successful block, as a phrase; empty when nothing readable says so."""
    if not result.is_ok or not result.latency_ns:
        return ""
    before, after = result.cpu_before, result.cpu_after
    pairs = zip(before.frequencies_khz, after.frequencies_khz, strict=False)
    moved = max((abs(b - a) / b for b, a in pairs if b), default=0.0)
    if moved > _FREQUENCY_MOVED:
        return f"the CPU frequency moved by {format_percent(moved)}"
    if max(before.temperature_c or 0.0, after.temperature_c or 0.0) > _HOT_C:
        return f"the CPU was hotter than {_HOT_C:g} C"
    if (before.load_average or 0.0) > cpu_count + result.threads:
        return f"the load average was {before.load_average:.1f} on {cpu_count} cores"
    return ""


def _run_block(block: Block, session: Session, device: Device) -> tuple[BlockResult, Trace | None]:
    """The block's result, and its trace where it left one that can be read."""
    folder = session.plan.output_root
    files = block_files(block.variant, block.index)
    job = Job(
        block=block,
        model=session.plan.model,
        inputs=session.plan.inputs,
        result=folder / files.result,
        etdump=folder / files.etdump,
        log=folder / files.log,
        outputs=folder / files.outputs,
        timeout_s=session.plan.schedule.timeout_s,
        samples=folder / files.samples if block.experiment.mode == TRACE else None,
    )
    started_at = utc_now()
    outcome, said, trace = _run_job(job, device)
    said = replace(said, outputs=tuple(replace(o, file=str(files.outputs / o.file)) for o in said.outputs))
    result = BlockResult.of(
        block,
        said,
        etdump=str(files.etdump) if job.etdump.exists() else "",
        samples=str(files.samples) if job.samples and job.samples.exists() else "",
        log=str(files.log),
        started_at=started_at,
        duration_s=round(outcome.duration_s, 3),
        retried=outcome.interruptions,
    )
    return result, trace


def _run_job(job: Job, device: Device) -> tuple[JobOutcome, RunnerResult, Trace | None]:
    """Runs a job and reads what it left; whatever went wrong is in `error`, with the log's end."""
    said, trace = RunnerResult(), None
    try:
        job.log.parent.mkdir(parents=True, exist_ok=True)
        outcome = device.run(job)
    except OSError as error:
        outcome = JobOutcome(None, 0.0, f"{error.strerror}: {error.filename}")
    try:
        said = read_result(job)
        problem = said.error or outcome.problem
        if not problem:
            trace = read_etdump(job.etdump) if job.etdump.exists() or not said.is_stock else None
            problem = _problem_of(said, trace, job)
    except TraceError as error:
        problem = outcome.problem or error.message
    said = replace(
        said,
        error=_with_log_tail(problem, job.log) if problem else "",
        cpu_before=merge_states(said.cpu_before, outcome.before),
        cpu_after=merge_states(said.cpu_after, outcome.after),
    )
    return outcome, said, trace


def read_result(job: Job) -> RunnerResult:
    """What the runner said of its block: in its result file, or in the log of a runner that writes none."""
    experiment = job.block.experiment
    if experiment.runner_path is None or job.result.exists():
        return read_runner_result(job.result)
    log = read_stock_log(job.log.read_text(encoding="utf-8", errors="replace"))
    return log.as_result(experiment.warmup.minimum)


def _problem_of(said: RunnerResult, trace: Trace | None, job: Job) -> str:
    """A block that lacks what it was run for has failed, whatever its exit code says."""
    experiment = job.block.experiment
    if experiment.mode == TIMING and len(said.latency_ns) != experiment.runs:
        return f"{len(said.latency_ns)} iterations were timed, not {experiment.runs}"
    # A stock runner has no traced iterations of their own: its tracer, where it has one, is on throughout.
    if trace is None:
        return ""
    wanted = len(said.warmup_ns) + len(said.latency_ns) if said.is_stock else experiment.traced_runs
    # A runner that samples goes on until it has sampled for long enough.
    if job.samples and job.samples.exists() and trace.run_count == len(said.traced_ns) > wanted:
        return ""
    return "" if trace.run_count == wanted else f"the trace holds {trace.run_count} inferences, not {wanted}"


def _with_log_tail(problem: str, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    tail = [line for line in lines if line.strip()][-_LOG_TAIL_LINES:]
    return problem + "".join(f"\n  | {line}" for line in tail)


def _speedups(session: Session) -> list[Interval | None]:
    if not session.device.times_are_real:
        return []
    seed = session.plan.schedule.seed
    return [
        estimate_speedup(log_ratios(session.successful(before), session.successful(after)), seed)
        for before, after in session.plan.compared
    ]


def _median(times_ns: tuple[int, ...]) -> int:
    return sorted(times_ns)[len(times_ns) // 2]


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
