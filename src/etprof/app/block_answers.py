"""What a block left behind: its runner's words, and whether it did what it was run for."""

from pathlib import Path

from etprof.core.errors import TraceError
from etprof.core.plan import TIMING
from etprof.core.result_limits import find_impossible
from etprof.core.run import Job, RunnerResult
from etprof.core.trace import Trace
from etprof.core.workload import Workload
from etprof.traces.runner_result import read_runner_result
from etprof.traces.steps_file import read_steps
from etprof.traces.stock_log import read_stock_log

_LOG_TAIL_LINES = 8


def read_result(job: Job) -> RunnerResult:
    """What the runner said of its block: in its result file, or in the log of a runner that writes none."""
    experiment = job.block.experiment
    if experiment.runner_path is None or job.result.exists():
        said = read_runner_result(job.result)
    else:
        log = read_stock_log(job.log.read_text(encoding="utf-8", errors="replace"))
        said = log.as_result(experiment.warmup.minimum)
    if problem := find_impossible(said):
        raise TraceError(f"What the runner said of {job.block.name} cannot be: {problem}.")
    return said


def _find_step_problem(said: RunnerResult, job: Job, workload: Workload) -> str:
    """Every step of every timed sequence has a time, and together they take no longer than the sequence."""
    if job.steps is None:
        return ""
    times = read_steps(job.steps)
    expected = len(said.latency_ns), workload.step_count
    if times.shape != expected:
        return f"the times of {times.shape[0]} x {times.shape[1]} steps were kept, not of {expected[0]} x {expected[1]}"
    return "the steps of a sequence take longer than it does" if (times.sum(1) > said.latency_ns).any() else ""


def find_problem(said: RunnerResult, trace: Trace | None, job: Job, workload: Workload | None) -> str:
    """A block that lacks what it was run for has failed, whatever its exit code says."""
    experiment = job.block.experiment
    if experiment.mode == TIMING and len(said.latency_ns) != experiment.runs:
        return f"{len(said.latency_ns)} iterations were timed, not {experiment.runs}"
    if workload and (problem := _find_step_problem(said, job, workload)):
        return problem
    # A stock runner has no traced iterations of their own: its tracer, where it has one, is on throughout.
    if trace is None:
        return ""
    steps = len(workload.traced_steps) if workload else 1
    wanted = len(said.warmup_ns) + len(said.latency_ns) if said.is_stock else experiment.traced_runs * steps
    # A runner that samples goes on until it has sampled for long enough.
    if job.samples and job.samples.exists() and trace.run_count == len(said.traced_ns) * steps > wanted:
        return ""
    return "" if trace.run_count == wanted else f"the trace holds {trace.run_count} inferences, not {wanted}"


def with_log_tail(problem: str, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    tail = [line for line in lines if line.strip()][-_LOG_TAIL_LINES:]
    return problem + "".join(f"\n  | {line}" for line in tail)
