"""Runs the blocks of a plan on a device, one after the other, and keeps every result as soon as it is there."""

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import etprof
from etprof.analysis.timing.disturbances import find_disturbance
from etprof.app.block_answers import find_problem, read_result, with_log_tail
from etprof.app.pace import SYSTEM_CLOCK, Clock, Pace, TimeLeft
from etprof.app.plans import refuse_absent_features
from etprof.app.program_checks import settle_plan
from etprof.app.program_operators import refuse_missing_operators
from etprof.app.program_pairs import refuse_other_work
from etprof.app.reference_outputs import copy_references, keep_references
from etprof.app.runs import MeasuredRun
from etprof.app.schedule import (
    NOTHING_LEFT,
    budget_spent,
    build_round,
    build_rounds,
    expect_rounds,
    least_rounds,
    list_blocks_left,
    reason_to_stop,
)
from etprof.app.staged_jobs import run_job
from etprof.app.standings import Standings, drop_beaten, find_end, find_standings, is_wanted, may_add_rounds
from etprof.core.digest import files_sha256
from etprof.core.errors import RunnerError, TraceError
from etprof.core.exploration import Exploration
from etprof.core.layout import block_files, workload_path
from etprof.core.load_options import PACKED_CACHE
from etprof.core.plan import SEQUENTIAL, TIMING, TRACE, Block, Plan, Variant
from etprof.core.run import (
    EXECUTORCH_COMMIT,
    INPUTS_WRONG,
    MODEL_INVALID,
    MODEL_UNREADABLE,
    BlockResult,
    DeviceInfo,
    Job,
    JobOutcome,
    RunnerResult,
    Session,
)
from etprof.core.runtimes import RUNTIMES
from etprof.core.trace import Trace
from etprof.core.units import format_ns
from etprof.core.workload import Workload
from etprof.devices.base import Device, merge_states
from etprof.devices.core_types import resolve_cluster
from etprof.devices.recorded import RecordedDevice
from etprof.export.dependencies import executorch_commit
from etprof.store.json_file import write_bytes
from etprof.store.kept_blocks import keep_block
from etprof.store.output_files import share_outputs
from etprof.store.paths import check_inside
from etprof.store.run_folder import check_resumable, has_begun, new_run_folder, remove_unfinished
from etprof.store.run_lock import hold_run_folder
from etprof.store.session_file import load_session, save_session
from etprof.traces.trace_file import read_trace

_SHORTEST_PAUSE_S = 5.0


class Observer(Protocol):
    """Who is told how a run goes on."""

    def run_started(self, plan: Plan, done: int, *, times_are_real: bool) -> None: ...

    def block_started(self, block: Block) -> None: ...

    def block_retried(self, block: Block, reason: str) -> None: ...

    def block_ended(self, result: BlockResult, left: TimeLeft | None = None) -> None: ...

    def told(self, text: str) -> None:
        """Something about the whole run that a user should know now."""

    def variant_left_out(self, text: str, blocks: int) -> None:
        """A variant is not run again: in words, and how many of the planned blocks it does not get."""


def run_plan(
    plan: Plan, device: Device, observer: Observer, *, command: str, force: bool = False, resume: bool = False,
    notes: tuple[str, ...] = (), runner_sha256: Mapping[str, str] | None = None, prepared: tuple[str, ...] = (),
    clock: Clock = SYSTEM_CLOCK, began_s: float | None = None, older: Session | None = None,
    plan_path: Path | None = None, exploration: Exploration | None = None, is_python: bool = False,
) -> MeasuredRun:  # fmt: skip
    """Runs every block of a plan. Results are saved after each, so an interruption keeps what was measured.

    `older` is the session to go on with, where it was loaded already. `began_s` is when the user asked for it, where
    that was earlier than now: a time budget starts there. With `exploration` the variants race. `is_python` says that
    the device runs models in a Python process.
    """
    began_s = clock.now() if began_s is None else began_s
    plan = _find_clusters(plan, device.describe())
    session, workloads = begin_session(plan, device, command=command, notes=notes, is_python=is_python)
    digests = {**(runner_sha256 or {}), **_digest_named_runners(plan)}
    session = replace(session, runner_sha256=digests, prepared=prepared, plan_path=plan_path, exploration=exploration)
    folder = plan.output_root
    resume = resume and has_begun(folder)
    names = [experiment.name for experiment in plan.experiments]
    with hold_run_folder(folder) if resume else new_run_folder(folder, names, force=force):
        remove_unfinished(folder)
        if resume:
            older = older or load_session(folder)
            check_resumable(older, session)
            notes = tuple(dict.fromkeys((*older.notes, *session.notes)))
            session = replace(older, plan=session.plan, command=command, notes=notes, exploration=exploration)
        else:
            session = keep_references(session)
        for name, content in workloads.items():
            write_bytes(folder / workload_path(name), content, durable=True)
        return measure(session, device, observer, clock=clock, began_s=began_s)


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
        dropped=(),
    )
    names = [experiment.name for experiment in recorded.plan.experiments]
    with new_run_folder(output_root, names, force=force):
        copy_references(recording, session)
        return measure(session, RecordedDevice(recording, recorded), observer)


def begin_session(
    plan: Plan, device: Device, *, command: str, notes: tuple[str, ...], is_python: bool = False
) -> tuple[Session, dict[str, bytes]]:
    """Checks everything that can be checked before time is spent; with the workloads, by the experiment of each."""
    settled = settle_plan(plan)
    refuse_missing_operators(plan, settled, is_python=is_python)
    refuse_other_work(plan, settled)
    refuse_absent_features(plan, device.describe())
    workloads = {each.record.experiments[0]: each.workload for each in settled if each.workload}
    session = Session(
        plan=plan,
        device=device.describe(),
        programs=tuple(each.record for each in settled),
        versions=installed_versions(*(name for each in plan.programs for name in RUNTIMES[each.runtime].packages)),
        command=command,
        started_at=utc_now(),
        notes=tuple(note for note in (*notes, *(each.note for each in settled)) if note),
    )
    return session, workloads


def _digest_named_runners(plan: Plan) -> dict[str, str]:
    """Of each runner that an experiment names, with the libraries beside it."""
    named = {f"runner of {e.name}": e.runner_path for e in plan.experiments if e.runner_path}
    return {name: files_sha256({path, *path.parent.glob("*.so*")}) for name, path in named.items()}


def _find_clusters(plan: Plan, device: DeviceInfo) -> Plan:
    """The plan with the cores that each experiment's `big`, `little` or `prime` stands for on this device."""
    experiments = tuple(
        replace(e, cpu_affinity=resolve_cluster(e.cpu_cluster, device.clusters)) if e.cpu_cluster else e
        for e in plan.experiments
    )
    return replace(plan, experiments=experiments)


def installed_versions(*others: str) -> dict[str, str]:
    """Of what makes and runs programs, and of these packages."""
    versions = {"etprof": etprof.__version__, "python": platform.python_version()}
    for name in ("torch", "executorch", "torchao", *others):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    commit = executorch_commit()
    return {**versions, EXECUTORCH_COMMIT: commit} if commit else versions


@dataclass(frozen=True)
class _Measuring:
    """What every block of a run is measured with."""

    device: Device
    observer: Observer
    clock: Clock
    pace: Pace


def measure(
    session: Session, device: Device, observer: Observer, *, clock: Clock = SYSTEM_CLOCK, began_s: float | None = None
) -> MeasuredRun:
    """Runs what the session's plan asks for and the session does not hold yet; saves after every block."""
    plan, folder = session.plan, session.plan.output_root
    session = replace(session, results=tuple(r for r in session.results if r.is_ok), stop_reason="", ended_at="")
    save_session(folder, session)
    observer.run_started(plan, len(session.results), times_are_real=session.device.times_are_real)
    measured, rounds, planned = MeasuredRun(session), 0, build_rounds(plan)
    pace = Pace(plan.schedule, clock, clock.now() if began_s is None else began_s)
    on, standings, reason = _Measuring(device, observer, clock, pace), find_standings(session), ""
    while not reason:
        blocks = planned[rounds] if rounds < len(planned) else build_round(plan, rounds)
        measured, reason = _measure_round(blocks, measured, on, rounds, standings)
        # A sequential plan is over after its one long round.
        rounds = plan.schedule.blocks if plan.schedule.order == SEQUENTIAL else rounds + 1
        measured = replace(measured, session=drop_beaten(measured.session, observer.variant_left_out))
        standings, active = find_standings(measured.session), _active(measured.session)
        reason = reason or ("" if active else NOTHING_LEFT) or find_end(measured.session, rounds, standings)
        fits = pace.fits(variant for variant in active if variant not in standings.resting)
        reason = reason or reason_to_stop(plan, rounds, standings.speedups, fits=fits)
        if rounds == 1 and not pace.fits(active * (least_rounds(plan) - 1)):
            observer.told(f"{least_rounds(plan)} rounds, the fewest that give an interval, exceed the time budget")
    session = replace(measured.session, stop_reason=reason, ended_at=utc_now())
    save_session(folder, session)
    return replace(measured, session=session)


def _measure_round(
    blocks: Sequence[Block], measured: MeasuredRun, on: _Measuring, rounds: int, standings: Standings
) -> tuple[MeasuredRun, str]:
    """One more round, and why the run ends within it; empty where it does not."""
    plan = measured.session.plan
    may_stop = rounds >= least_rounds(plan)
    expected = expect_rounds(plan, rounds, standings.speedups)
    at_most = plan.schedule.max_blocks if may_add_rounds(measured.session) else expected
    for block in blocks:
        if not is_wanted(block, measured.session, standings):
            continue
        if may_stop and not on.pace.fits([block.variant]):
            return measured, budget_spent(plan)
        result, measured = _measure_block(block, measured, on, may_stop=may_stop)
        session = measured.session
        run = [r.variant for r in session.results]
        finished = {*session.left_out, *standings.resting}
        left = [list_blocks_left(plan, count, run, finished) for count in (expected, at_most)]
        on.observer.block_ended(result, on.pace.estimate_left(*left))
        missing = plan.schedule.blocks - run.count(block.variant)
        if block.variant in session.given_up and missing > 0:
            text = f"{block.variant.label} is not run again: its first two blocks failed the same way"
            on.observer.variant_left_out(text, missing)
    return measured, ""


def _active(session: Session) -> list[Variant]:
    return [variant for variant in session.plan.variants if variant not in session.left_out]


def _measure_block(
    block: Block, measured: MeasuredRun, on: _Measuring, *, may_stop: bool
) -> tuple[BlockResult, MeasuredRun]:
    """A block with its retries; where the run may stop, none that would end beyond the time budget."""
    session, began_s = measured.session, on.clock.now()
    schedule = session.plan.schedule
    on.observer.block_started(block)
    on.clock.sleep(schedule.cooldown_s)
    result, trace = _run_block(block, session, on.device)
    first_s = on.clock.now() - began_s
    retried = list(result.retried)
    tries_left = schedule.retries if session.device.times_are_real else 0
    while tries_left and (reason := find_disturbance(result, session.device.cpu_count)):
        pause_s = max(schedule.cooldown_s, _SHORTEST_PAUSE_S)
        if may_stop and not on.pace.has_time_for(pause_s + first_s):
            break
        tries_left -= 1
        retried.append(f"{reason}; median {format_ns(_median(result.latency_ns))}")
        on.observer.block_retried(block, reason)
        on.clock.sleep(pause_s)
        result, trace = _run_block(block, session, on.device)
        retried += result.retried
    result = share_outputs(session.plan.output_root, replace(result, retried=tuple(retried)), session.results)
    result, saved = keep_block(result, session)
    on.pace.add(block.variant, on.clock.now() - began_s)
    traces = {**measured.traces, result.etdump: trace} if trace and result.etdump and result.is_ok else measured.traces
    return result, MeasuredRun(saved, traces)


def _run_block(block: Block, session: Session, device: Device) -> tuple[BlockResult, Trace | None]:
    """The block's result, and its trace where it left one that can be read."""
    folder = session.plan.output_root
    record = session.program(block.variant)
    program = record.program
    is_timed_workload = program.workload is not None and block.experiment.mode == TIMING
    files = block_files(block.variant, block.index, program.runtime)
    job = Job(
        block=block,
        model=program.model,
        inputs=program.inputs,
        result=folder / files.result,
        etdump=folder / files.etdump,
        log=folder / files.log,
        outputs=folder / files.outputs,
        timeout_s=session.plan.schedule.timeout_s,
        samples=folder / files.samples if block.experiment.mode == TRACE else None,
        method="" if program.workload else program.method,
        input_shapes=program.input_shapes,
        runtime=program.runtime,
        workload=folder / workload_path(record.experiments[0]) if program.workload else None,
        steps=folder / files.steps if is_timed_workload else None,
        page_cache=session.plan.schedule.cache_of(block.index) if block.experiment.mode == TIMING else "",
        packed_cache=_find_packed_cache(block, folder),
    )
    check_inside(job.log, folder)
    started_at = utc_now()
    outcome, said, trace = _run_job(job, device, program.workload)
    _refuse_for_every_variant(outcome, said, session, job)
    named = (replace(o, file=str(files.outputs / o.file) if o.file else "") for o in said.outputs)
    said = replace(said, outputs=tuple(named))
    result = BlockResult.of(
        block,
        said,
        etdump=str(files.etdump) if job.etdump.exists() else "",
        samples=str(files.samples) if job.samples and job.samples.exists() else "",
        steps=str(files.steps) if job.steps and job.steps.exists() else "",
        log=str(files.log),
        started_at=started_at,
        duration_s=round(outcome.duration_s, 3),
        retried=outcome.interruptions,
    )
    return result, trace


def _find_packed_cache(block: Block, folder: Path) -> Path | None:
    """The file for packed weights that a load option asks for; the first block of a variant begins without one."""
    name = dict(block.experiment.load_options).get(PACKED_CACHE)
    if name is None:
        return None
    path = folder / block.experiment.name / f"{block.variant.stem}.{name}.packed"
    check_inside(path, folder)
    if block.index == 0:
        path.unlink(missing_ok=True)
    return path


def _refuse_for_every_variant(outcome: JobOutcome, said: RunnerResult, session: Session, job: Job) -> None:
    """Where the first block finds model or inputs at fault, every other would: the run ends with one sentence."""
    # Only where the runner itself said so: the code of a launcher means something else.
    is_about_model = said.runner and outcome.exit_code in (MODEL_UNREADABLE, MODEL_INVALID, INPUTS_WRONG)
    may_differ = len(session.programs) > 1 or any(e.runner_path for e in session.plan.experiments)
    if is_about_model and not may_differ and not any(r.is_ok for r in session.results):
        raise RunnerError(f"No block can run {job.model}: {said.error.splitlines()[0]}", hint=f"Log: {job.log}")


def _run_job(job: Job, device: Device, workload: Workload | None) -> tuple[JobOutcome, RunnerResult, Trace | None]:
    """Runs a job and reads what it left; whatever went wrong is in `error`, with the log's end."""
    said, trace = RunnerResult(), None
    try:
        job.log.parent.mkdir(parents=True, exist_ok=True)
        outcome = run_job(device, job)
    except OSError as error:
        outcome = JobOutcome(None, 0.0, f"{error.strerror}: {error.filename}")
    try:
        said = read_result(job)
        problem = said.error or outcome.problem
        if not problem:
            trace = read_trace(job.etdump) if job.etdump.exists() or not said.is_stock else None
            problem = find_problem(said, trace, job, workload)
    except TraceError as error:
        problem = outcome.problem or error.message
    said = replace(
        said,
        error=with_log_tail(problem, job.log) if problem else "",
        cpu_before=merge_states(said.cpu_before, outcome.before),
        cpu_after=merge_states(said.cpu_after, outcome.after),
    )
    return outcome, said, trace


def _median(times_ns: tuple[int, ...]) -> int:
    return sorted(times_ns)[len(times_ns) // 2]


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
