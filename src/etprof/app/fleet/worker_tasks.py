"""What a worker of a fleet is asked to do: run jobs, each in a process of its own, and take and give files."""

import multiprocessing
import time
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from etprof.app.fleet.job_process import DeviceSettings, export_job, is_finished, measure_job
from etprof.app.fleet.orders import JobOrder
from etprof.app.fleet.parcels import RUN
from etprof.app.fleet.spool import FilePart, Spool
from etprof.core.fleet import JobAnswer, JobEnd
from etprof.export.request import ExportRequest
from etprof.store.plan_paths import change_plan_paths

# Under this name a worker tells the scheduler what it offers, and in its heartbeats what it does.
INFORMATION = "etprof"
_POLL_S = 0.2
# A device is left clean within this time; then its process is killed.
_CLEANING_S = 60.0


@dataclass
class Served:
    """A device that this process offers, or exports where it has no settings; `doing` is what it does now."""

    name: str
    settings: DeviceSettings | None
    spool: Spool
    information: dict[str, Any] = field(default_factory=dict)
    doing: str = ""


# By name. Dask finds functions by their names, and they find here what this process offers.
SERVED: dict[str, Served] = {}


def resource_of(device: str) -> str:
    return f"{INFORMATION}:{device}"


def _context() -> ForkServerContext:
    return multiprocessing.get_context("forkserver")


def prepare_processes() -> None:
    """Processes of runs are forked from one that has loaded what they need, and has none of this one's threads."""
    _context().set_forkserver_preload(["__main__", "etprof.app.fleet.job_process"])


def run_job(order: JobOrder) -> JobAnswer:
    """A task of Dask's: runs a job or goes on with it, unless it is finished already."""
    served = SERVED[order.device]
    forget_jobs(order.device, order.arrived)
    if missing := served.spool.find_missing(order.files):
        return JobAnswer(JobEnd.MISSING, missing=missing)
    started_s = time.time()
    folder = served.spool.open_job(order)
    served.doing = order.job
    try:
        end, reason = (JobEnd.DONE, "") if is_finished(folder / RUN) else _carry_out(served, order, folder)
        if end is not JobEnd.DONE:
            return JobAnswer(end, reason, started_s=started_s, ended_s=time.time())
        size, digest = served.spool.pack(order.job)
        head = served.spool.read_part(order.job, 0)
        return JobAnswer(end, size=size, sha256=digest, head=head, started_s=started_s, ended_s=time.time())
    finally:
        served.doing = ""


def take_part(device: str, part: FilePart) -> None:
    SERVED[device].spool.add_part(part)


def give_part(device: str, job: str, offset: int) -> bytes:
    return SERVED[device].spool.read_part(job, offset)


def forget_jobs(device: str, jobs: tuple[str, ...]) -> None:
    for job in jobs:
        SERVED[device].spool.forget(job)


def _start(
    served: Served, order: JobOrder, folder: Path
) -> "tuple[ForkServerProcess, connection.Connection[Any, Any]]":
    here, there = _context().Pipe()
    if isinstance(order.work, ExportRequest):
        process = _context().Process(target=export_job, args=(there, folder, order.work))
    else:
        plan = change_plan_paths(order.work, lambda path: folder / path)
        process = _context().Process(target=measure_job, args=(there, served.settings, plan, order.command))
    process.start()
    there.close()
    return process, here


def _carry_out(served: Served, order: JobOrder, folder: Path) -> tuple[JobEnd, str]:
    from distributed import get_worker

    worker = get_worker()
    task = worker.get_current_task()
    process, here = _start(served, order, folder)
    stopped_s = 0.0
    with here:
        while True:
            message = _next_message(here)
            if isinstance(message, tuple) and len(message) == 2:
                process.join()
                return message
            if message is None:
                process.join()
                # A model that ends its process does so again, and is no fault of the worker.
                end = JobEnd.UNFIT if isinstance(order.work, ExportRequest) else JobEnd.FAILED
                return end, f"its process ended with exit code {process.exitcode}"
            if message:
                _tell(worker, order, message)
            if not stopped_s and _is_unwanted(worker, task):
                stopped_s = time.monotonic()
                # As Ctrl-C does: the block is abandoned, the device left clean, finished blocks are kept.
                process.terminate()
            if stopped_s and time.monotonic() - stopped_s > _CLEANING_S:
                process.kill()


def _next_message(here: "connection.Connection[Any, Any]") -> Any:
    """Of the run's process: empty where there is none yet, None where there will be no more."""
    try:
        return here.recv() if here.poll(_POLL_S) else ()
    except EOFError:
        return None


def _tell(worker: Any, order: JobOrder, message: tuple[int, int | None, str, float | None]) -> None:
    done, total, text, left_s = message
    progress = {"job": order.job, "device": order.device, "text": text, "done": done, "total": total, "left_s": left_s}
    # Dask adds a word of its own to it.
    worker.log_event(order.topic, {"progress": progress})


def _is_unwanted(worker: Any, task: str) -> bool:
    """Whether nobody waits for the result any more: the client has cancelled it or is gone, or the scheduler is."""
    state = worker.state.tasks.get(task)
    return state is None or state.state == "cancelled" or worker.status.name in ("closing", "closed")
