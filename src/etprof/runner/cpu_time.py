"""How long the threads of this process ran, and how long they were ready to run and had no core."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from etprof.core.run import CpuTime, ThreadTime

_TASKS = Path("/proc/self/task")
# Of the fields of /proc/self/task/N/stat behind the program's name, the core the thread was last on.
_CORE_FIELD = 36


@dataclass(frozen=True)
class ThreadReading:
    ran_ns: int = 0
    waited_ns: int | None = None
    core: int | None = None


@dataclass(frozen=True)
class CpuTimeReading:
    """The clocks and the scheduler's counters of every thread so far."""

    wall_ns: int
    cpu_ns: int
    caller: int
    threads: Mapping[int, ThreadReading]


def read_cpu_time() -> CpuTimeReading:
    caller = threading.get_native_id()
    threads = _read_threads()
    known = threads.get(caller, ThreadReading())
    # The counters of a running thread are up to a tick old; its clock is not.
    threads[caller] = ThreadReading(time.thread_time_ns(), known.waited_ns, known.core)
    return CpuTimeReading(cpu_ns=time.process_time_ns(), wall_ns=time.monotonic_ns(), caller=caller, threads=threads)


def cpu_time_between(before: CpuTimeReading, after: CpuTimeReading) -> CpuTime:
    caller_first = sorted(after.threads, key=lambda number: (number != after.caller, number))
    times = {number: _between(before.threads.get(number), after.threads[number]) for number in caller_first}
    return CpuTime(
        wall_ns=after.wall_ns - before.wall_ns,
        cpu_ns=after.cpu_ns - before.cpu_ns,
        threads=tuple(each for number, each in times.items() if each.ran_ns > 0 or number == after.caller),
    )


def _between(before: ThreadReading | None, after: ThreadReading) -> ThreadTime:
    before = before or ThreadReading()
    waited_ns = None if after.waited_ns is None else after.waited_ns - (before.waited_ns or 0)
    return ThreadTime(after.ran_ns - before.ran_ns, waited_ns, before.core, after.core)


def _read_threads() -> dict[int, ThreadReading]:
    """Only Linux has this folder; a thread that ends meanwhile is left out."""
    threads = {}
    for task in _TASKS.glob("[0-9]*"):
        try:
            ran_ns, waited_ns, _ = (task / "schedstat").read_text(encoding="utf-8").split()
            # The name is in parentheses and may hold spaces and parentheses of its own.
            fields = (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        threads[int(task.name)] = ThreadReading(int(ran_ns), int(waited_ns), int(fields[_CORE_FIELD]))
    return threads
