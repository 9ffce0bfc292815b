"""A run or an export in a process of its own, which ends with the worker that started it and leaves a device clean."""

import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from multiprocessing import connection, parent_process
from pathlib import Path
from types import FrameType
from typing import Any

from etprof.app.devices import DeviceRequest
from etprof.app.fleet.parcels import RUN
from etprof.app.pace import TimeLeft
from etprof.app.profiling import RunOptions, profile, run_on
from etprof.app.progress import RunCounter
from etprof.app.runs import MeasuredRun
from etprof.core.errors import EtprofError, StoreError, UsageError
from etprof.core.fleet import JobEnd
from etprof.core.plan import Plan
from etprof.core.run import BlockResult
from etprof.devices.turns import host_turn
from etprof.export.exporter import export_model
from etprof.export.request import ExportRequest
from etprof.store.run_lock import refuse_held
from etprof.store.session_file import has_session, load_session

# Whoever was killed while it measured here may still be leaving the device clean.
_PATIENCE_S = 60.0
_PAUSE_S = 0.2


@dataclass(frozen=True)
class DeviceSettings:
    """The parts of a `DeviceRequest` that can be sent to another process."""

    kind: str
    place: str = ""
    runner: str = "auto"
    folder: str = ""
    emulator: str = ""
    bundle: Path | None = None
    prepare: bool = False
    keep: bool = False

    @classmethod
    def of(cls, request: DeviceRequest) -> "DeviceSettings":
        return cls(**{each.name: getattr(request, each.name) for each in fields(cls)})

    def as_request(self, **more: Any) -> DeviceRequest:
        return DeviceRequest(**vars(self), **more)


class _Reporter(RunCounter):
    """Sends how far the run is to the worker, as plain values."""

    def __init__(self, to: "connection.Connection[Any, Any]") -> None:
        super().__init__(lambda done, total, text: to.send((done, total, text, self._left_s)))
        self._left_s: float | None = None

    def block_ended(self, result: BlockResult, left: TimeLeft | None = None) -> None:
        self._left_s = left.expected_s if left else None
        super().block_ended(result, left)


def measure_job(to: "connection.Connection[Any, Any]", settings: DeviceSettings, plan: Plan, command: str) -> None:
    """The main function of the process of a run."""
    reporter = _Reporter(to)
    request = settings.as_request(progress=reporter.told)
    _carry_out(to, partial(_measure, request, plan, command, reporter))


def export_job(to: "connection.Connection[Any, Any]", folder: Path, request: ExportRequest) -> None:
    """The main function of the process of an export, which goes to `run` in the job's folder."""
    _carry_out(to, partial(_export, to, folder, request))


def _carry_out(to: "connection.Connection[Any, Any]", work: Callable[[], tuple[JobEnd, str]]) -> None:
    """The last message is how the work ended, and why."""
    _end_with_worker()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _interrupt_once)
    try:
        end, reason = work()
    except KeyboardInterrupt:
        end, reason = JobEnd.STOPPED, "stopped"
    except UsageError as error:
        end, reason = JobEnd.UNFIT, _describe(error)
    except EtprofError as error:
        end, reason = JobEnd.FAILED, _describe(error)
    to.send((end, reason))


def is_finished(folder: Path) -> bool:
    """Whether a run needs nothing but to be fetched."""
    if not has_session(folder):
        return False
    try:
        session = load_session(folder)
    except StoreError:
        return False
    return bool(session.stop_reason) and all(result.is_ok for result in session.results)


def _measure(request: DeviceRequest, plan: Plan, command: str, reporter: _Reporter) -> tuple[JobEnd, str]:
    folder = plan.output_root
    _wait_for(folder, reporter)
    options = RunOptions(command, resume=has_session(folder))
    try:
        measured = _run(request, plan, options, reporter)
    except (UsageError, StoreError) as error:
        if not options.resume:
            raise
        # The device or what is installed has changed since: blocks from before and after do not belong together.
        reporter.told(f"{error.message} It starts over.")
        shutil.rmtree(folder)
        measured = _run(request, plan, replace(options, resume=False), reporter)
    results = measured.session.results
    if not any(result.is_ok for result in results):
        return JobEnd.FAILED, results[0].error.splitlines()[0] if results else "no block was run"
    return JobEnd.DONE, ""


def _export(to: "connection.Connection[Any, Any]", folder: Path, request: ExportRequest) -> tuple[JobEnd, str]:
    """What is there and would be made the same again is kept."""

    def tell(text: str) -> None:
        to.send((0, None, text, None))

    # The client's models lie there, and no other ones.
    os.chdir(folder)
    try:
        # An export would disturb whoever measures on this machine.
        with host_turn(True, tell):
            export_model(replace(request, outdir=folder / RUN), tell)
    except EtprofError as error:
        # Trying once more would not help; another worker may have the packages that are missing here.
        return JobEnd.UNFIT, f"on {platform.node()}: {_describe(error)}"
    return JobEnd.DONE, ""


def _run(request: DeviceRequest, plan: Plan, options: RunOptions, reporter: _Reporter) -> MeasuredRun:
    if plan.experiments:
        return run_on(request, plan, reporter, options)
    # Where times mean nothing, a run shows which kernels execute.
    return profile(
        plan.model, request, reporter, options,
        output_root=plan.output_root, schedule=plan.schedule, kernels=request.is_emulated,
    )  # fmt: skip


def _wait_for(folder: Path, reporter: _Reporter) -> None:
    until, has_told = time.monotonic() + _PATIENCE_S, False
    while True:
        try:
            refuse_held(folder)
            return
        except StoreError as error:
            if time.monotonic() > until:
                raise
            if not has_told:
                reporter.told(error.message)
            has_told = True
            time.sleep(_PAUSE_S)


def _describe(error: EtprofError) -> str:
    return f"{error.message} {error.hint}".rstrip()


def _interrupt_once(_number: int, _frame: FrameType | None) -> None:
    """The next signal must not cut short what the first one has begun."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with_worker() -> None:
    """A worker that is killed can end nothing: its end is noticed here."""
    worker = parent_process()
    assert worker is not None  # this is the main function of a process that a worker starts

    def watch() -> None:
        connection.wait([worker.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
