"""Runs the blocks of a session on a device, one after the other, and keeps every result as soon as it is there."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from etprof.analysis.compare import estimate_speedup, log_ratios
from etprof.core.errors import StoreError, TraceError
from etprof.core.plan import TIMING, TRACE, Block
from etprof.core.report import Interval
from etprof.core.run import STOCK_RUNNER, BlockResult, CpuState, Job, JobOutcome, Session
from etprof.core.units import format_ns, format_percent
from etprof.devices.base import Device, merge_states
from etprof.schedule import build_round, build_rounds, reason_to_stop
from etprof.store.layout import block_files
from etprof.store.session_file import save_session
from etprof.traces.etdump import read_etdump

_LOG_TAIL_LINES = 8
_FREQUENCY_MOVED = 0.10
_HOT_C = 95.0
_LONGEST_PAUSE_S = 5.0

ReadResult = Callable[[Job], dict[str, Any]]


class Observer(Protocol):
    """Who is told how a run goes on."""

    def run_started(self, rounds: int, arms: int, done: int) -> None: ...

    def block_started(self, block: Block) -> None: ...

    def block_retried(self, block: Block, reason: str) -> None: ...

    def block_ended(self, result: BlockResult) -> None: ...


def measure(session: Session, device: Device, observer: Observer, read_result: ReadResult) -> Session:
    """Runs what the session's plan asks for and the session does not hold yet; saves after every block."""
    plan, folder = session.plan, session.plan.output_root
    session = replace(session, results=tuple(r for r in session.results if r.is_ok), stop_reason="", ended_at="")
    save_session(folder, session)
    observer.run_started(plan.schedule.blocks, len(plan.arms), len(session.results))
    start, rounds = time.monotonic(), 0
    planned = build_rounds(plan)
    while not (reason := reason_to_stop(plan, rounds, _speedups(session), time.monotonic() - start)):
        blocks = planned[rounds] if rounds < len(planned) else build_round(plan, rounds)
        for block in blocks:
            session = _measure_block(block, session, device, observer, read_result)
        # A sequential plan is over after its one long round.
        rounds = plan.schedule.blocks if len(planned) == 1 else rounds + 1
    session = replace(session, stop_reason=reason, ended_at=utc_now())
    save_session(folder, session)
    return session


def _measure_block(
    block: Block, session: Session, device: Device, observer: Observer, read_result: ReadResult
) -> Session:
    if any((r.key, r.index) == (block.key, block.index) for r in session.results):
        return session
    schedule = session.plan.schedule
    observer.block_started(block)
    time.sleep(schedule.cooldown_s)
    result = _run_block(block, session, device, read_result)
    retried = list(result.retried)
    tries_left = schedule.retries if session.device.times_are_real else 0
    while tries_left and (reason := find_disturbance(result, session.device.cpu_count)):
        tries_left -= 1
        retried.append(f"{reason}; median {format_ns(_median(result.latency_ns))}")
        observer.block_retried(block, reason)
        time.sleep(max(schedule.cooldown_s, _LONGEST_PAUSE_S))
        result = _run_block(block, session, device, read_result)
        retried += result.retried
    result, saved = _keep(replace(result, retried=tuple(retried)), session)
    observer.block_ended(result)
    return saved


def _keep(result: BlockResult, session: Session) -> tuple[BlockResult, Session]:
    """Saves a block. One that fills the disk has failed: its own files make room for the record that says so."""
    folder = session.plan.output_root
    saved = replace(session, results=(*session.results, result))
    try:
        save_session(folder, saved)
    except StoreError as error:
        files = block_files(result.experiment, result.threads, result.index)
        for path in (files.result, files.etdump, files.samples):
            (folder / path).unlink(missing_ok=True)
        shutil.rmtree(folder / files.outputs, ignore_errors=True)
        result = replace(result, error=result.error or error.message, etdump="", samples="", outputs=())
        saved = replace(session, results=(*session.results, result))
        # If there is still no room, the next save may find some; the last one of the run tells.
        with suppress(StoreError):
            save_session(folder, saved)
    return result, saved


def find_disturbance(result: BlockResult, cpu_count: int) -> str:
    """What spoiled a block that ended well, as a phrase; empty when nothing readable says so."""
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


def _run_block(block: Block, session: Session, device: Device, read_result: ReadResult) -> BlockResult:
    folder = session.plan.output_root
    files = block_files(block.experiment.name, block.threads, block.index)
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
    outcome, said = _run_job(job, device, read_result)
    said["outputs"] = tuple(replace(o, file=str(files.outputs / o.file)) for o in said.get("outputs", ()))
    return BlockResult(
        experiment=block.experiment.name,
        threads=block.threads,
        index=block.index,
        etdump=str(files.etdump) if job.etdump.exists() else "",
        samples=str(files.samples) if job.samples and job.samples.exists() else "",
        log=str(files.log),
        started_at=started_at,
        duration_s=round(outcome.duration_s, 3),
        retried=outcome.interruptions,
        **said,
    )


def _run_job(job: Job, device: Device, read_result: ReadResult) -> tuple[JobOutcome, dict[str, Any]]:
    """Runs a job and reads what the runner said of it; whatever went wrong is in `error`, with the log's end."""
    said: dict[str, Any] = {}
    try:
        job.log.parent.mkdir(parents=True, exist_ok=True)
        outcome = device.run(job)
    except OSError as error:
        outcome = JobOutcome(None, 0.0, f"{error.strerror}: {error.filename}")
    try:
        said = read_result(job)
        problem = said["error"] or outcome.problem or _problem_of(said, job)
    except TraceError as error:
        problem = outcome.problem or error.message
    said["error"] = _with_log_tail(problem, job.log) if problem else ""
    said["cpu_before"] = merge_states(said.get("cpu_before", CpuState()), outcome.before)
    said["cpu_after"] = merge_states(said.get("cpu_after", CpuState()), outcome.after)
    return outcome, said


def _problem_of(said: dict[str, Any], job: Job) -> str:
    """A block that lacks what it was run for has failed, whatever its exit code says."""
    experiment = job.block.experiment
    if experiment.mode == TIMING and len(said["latency_ns"]) != experiment.runs:
        return f"{len(said['latency_ns'])} iterations were timed, not {experiment.runs}"
    # A stock runner has no traced iterations of their own: its tracer, where it has one, is on throughout.
    is_stock = said["runner"] == STOCK_RUNNER
    if is_stock and not job.etdump.exists():
        return ""
    try:
        trace = read_etdump(job.etdump)
    except TraceError as error:
        return error.message
    wanted = len(said["warmup_ns"]) + len(said["latency_ns"]) if is_stock else experiment.traced_runs
    # A runner that samples goes on until it has sampled for long enough.
    if job.samples and job.samples.exists() and trace.run_count == len(said["traced_ns"]) > wanted:
        return ""
    return "" if trace.run_count == wanted else f"the trace holds {trace.run_count} inferences, not {wanted}"


def _with_log_tail(problem: str, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    tail = [line for line in lines if line.strip()][-_LOG_TAIL_LINES:]
    return problem + "".join(f"\n  | {line}" for line in tail)


def _speedups(session: Session) -> list[Interval | None]:
    plan = session.plan
    if not session.device.times_are_real:
        return []
    pairs = [
        (session.results_of(pair.baseline, threads), session.results_of(pair.candidate, threads))
        for pair in plan.pairs
        for threads in plan.experiment(pair.baseline).threads
        if threads in plan.experiment(pair.candidate).threads
    ]
    return [estimate_speedup(log_ratios(b, c), plan.schedule.seed) for b, c in pairs]


def _median(times_ns: tuple[int, ...]) -> int:
    return sorted(times_ns)[len(times_ns) // 2]


def utc_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
