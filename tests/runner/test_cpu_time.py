"""CPU time of real blocks: threads that share a core are seen, and threads with cores of their own draw nothing."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from builders import a_device_info, a_result
from etprof.analysis.timing.disturbances import find_disturbed_blocks
from etprof.core.findings import FindingKind
from etprof.core.run import CpuTime
from etprof.runner.build import NativeRunner
from etprof.runner.cpu_time import cpu_time_between, read_cpu_time
from etprof.traces.runner_result import read_runner_result
from parts import need
from runner_block import run_block

_FLAGS = ("--warmup", "5", "--num_executions", "200", "--cpu_threads", "2")
# Another program may need a core now and then, even on a quiet machine. A rule that cries wolf does so every time.
_TRIES = 6
_MOST_USED_BY_OTHERS = 0.2


@pytest.fixture(params=["native", "python"])
def command(request: pytest.FixtureRequest) -> tuple[str, ...]:
    need(Path("/proc/self/schedstat").exists(), "this system does not report how long threads wait")
    need(len(os.sched_getaffinity(0)) > 1, "there is one core only")
    if request.param == "python":
        return (sys.executable, "-m", "etprof.runner.python_runner")
    runner: NativeRunner = request.getfixturevalue("runner")
    return runner.command


def run_two_threads(command: tuple[str, ...], models: Path, folder: Path) -> tuple[CpuTime, list[FindingKind]]:
    block = run_block(command, models / "fp32.pte", folder, *_FLAGS)
    assert block.exit_code == 0, block.stderr
    said = read_runner_result(folder / "result.json")
    assert said.cpu_time is not None
    result = a_result(threads=2, cpu_time=said.cpu_time, cpu_affinity=said.cpu_affinity)
    return said.cpu_time, [f.kind for f in find_disturbed_blocks("on", [result], a_device_info(cpu_count=64))]


def read_time_of_others() -> float:
    """Seconds of CPU time that neither this process nor its children used."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


@pytest.mark.alone
def test_two_threads_that_share_a_core_are_a_finding(command: tuple[str, ...], models: Path, tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    pinned = ("taskset", "-c", str(core), *command)
    taken, found = run_two_threads(pinned, models, tmp_path)
    assert found == [FindingKind.TOO_MANY_THREADS, FindingKind.CORES_MISSING]
    assert taken.cpu_ns < 1.1 * taken.wall_ns, "together they had one core"
    assert {(t.core_before, t.core_after) for t in taken.threads} == {(core, core)}
    waits = sorted((t.waited_ns or 0) / taken.wall_ns for t in taken.threads)
    assert waits[-2] > 0.25, "both waited for the other"


@pytest.mark.alone
def test_two_threads_on_two_cores_are_none(command: tuple[str, ...], models: Path, tmp_path: Path) -> None:
    start, used_at_start = time.monotonic(), read_time_of_others()
    for attempt in range(_TRIES):
        taken, found = run_two_threads(command, models, tmp_path / str(attempt))
        if not found:
            break
    others = (read_time_of_others() - used_at_start) / (time.monotonic() - start)
    need(not found or others < _MOST_USED_BY_OTHERS, f"other programs use {others:.1f} cores of this machine")
    assert found == []
    assert taken.cpu_ns > 1.3 * taken.wall_ns


def test_reading_takes_no_time_of_the_timed_iterations(command: tuple[str, ...], models: Path, tmp_path: Path) -> None:
    block = run_block(command, models / "fp32.pte", tmp_path, *_FLAGS)
    time_between = block.result["cpu_time"]["wall_ns"] - sum(block.result["latency_ns"])
    assert time_between > 0, "the clock of each iteration is inside of the reading around all"


def test_a_traced_block_times_nothing(command: tuple[str, ...], models: Path, tmp_path: Path) -> None:
    block = run_block(command, models / "fp32.pte", tmp_path, "--num_executions", "0", "--traced_executions", "1")
    assert (block.exit_code, block.result["cpu_time"]) == (0, None)


def test_the_thread_that_asks_comes_first_and_a_sleeping_one_is_left_out() -> None:
    done = threading.Event()
    sleeper = threading.Thread(target=done.wait)
    sleeper.start()
    before = read_cpu_time()
    until = time.thread_time_ns() + 20_000_000
    while time.thread_time_ns() < until:
        pass
    taken = cpu_time_between(before, read_cpu_time())
    done.set()
    sleeper.join()
    assert taken.threads[0].ran_ns >= 20_000_000
    assert taken.wall_ns >= taken.threads[0].ran_ns
    assert all(thread.ran_ns > 0 for thread in taken.threads)
