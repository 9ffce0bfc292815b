"""Sends jobs to devices one at a time, and again where that went wrong, until each has a run or a reason for none."""

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

import etprof
from etprof.app.fleet.cluster import Cluster, SchedulerLostError
from etprof.app.fleet.orders import JobOrder, Sendable
from etprof.core.errors import DeviceError, EtprofError
from etprof.core.fleet import MOST_FAILURES, FleetDevice, FleetJob, JobAnswer, JobEnd, JobProgress, JobResult
from etprof.core.label_expression import LabelExpression

_LISTEN_S = 0.25
# How long a device may be away before a job that does not wait for it is given up.
ABSENCE_S = 30.0


class FleetObserver(Protocol):
    """Who is told how the jobs go on."""

    def started(self, job: FleetJob, device: str) -> None: ...

    def progressed(self, job: FleetJob, progress: JobProgress) -> None: ...

    def ended(self, result: JobResult) -> None: ...

    def told(self, text: str) -> None: ...


@dataclass(frozen=True)
class Attempt:
    job: FleetJob
    device: str
    order: JobOrder


# Puts a run that is done in its place, from its bytes; gives how many of its blocks failed.
TakeIn = Callable[[FleetJob, FleetDevice, JobAnswer, Iterable[bytes]], int]


@dataclass
class Dispatcher:
    """`parcels` are by the name of the plan; `waits` for a device that is away is without limit.

    With `exports` the devices are the workers that export. What they made stays with them: others may ask for it.
    """

    cluster: Cluster
    parcels: Mapping[str, Sendable]
    wanted: LabelExpression
    observer: FleetObserver
    take_in: TakeIn
    command: str
    waits: bool = False
    absence_s: float = ABSENCE_S
    exports: bool = False
    results: dict[str, JobResult] = field(default_factory=dict)
    set_aside: dict[str, str] = field(default_factory=dict)
    _pending: dict[str, deque[FleetJob]] = field(default_factory=dict)
    _running: dict[str, Attempt] = field(default_factory=dict)
    _arrived: deque[tuple[Attempt, JobAnswer]] = field(default_factory=deque)
    _failures: dict[str, list[str]] = field(default_factory=dict)
    _tries: dict[str, int] = field(default_factory=dict)
    _unfit: dict[tuple[str, str], str] = field(default_factory=dict)
    _seen_s: dict[str, float] = field(default_factory=dict)
    _ordered: set[str] = field(default_factory=set)
    _to_forget: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def run(self, jobs: Iterable[FleetJob]) -> dict[str, JobResult]:
        """The result of each job, by its id."""
        for job in jobs:
            self._pending.setdefault(job.device, deque()).append(job)
        began_s = time.monotonic()
        self._seen_s = dict.fromkeys(self._pending, began_s)
        try:
            while self._running or self._arrived or any(self._pending.values()):
                devices = {each.name: each for each in self.cluster.list_devices(exports=self.exports)}
                self._seen_s |= dict.fromkeys(devices, time.monotonic())
                self._notice_lost(devices)
                self._start(devices)
                self._take_in(devices)
                self._give_up(devices)
                self._listen(devices)
        finally:
            self._forget_rest()
        return self.results

    def _forget_rest(self) -> None:
        """What a worker is not told any more with its next order; who is not there removes it after a while."""
        with suppress(DeviceError):
            devices = {each.name: each for each in self.cluster.list_devices(now=True)} if self._to_forget else {}
            for name, jobs in self._to_forget.items():
                if name in devices:
                    self.cluster.forget(devices[name], jobs)

    def _start(self, devices: Mapping[str, FleetDevice]) -> None:
        taken = {attempt.device for attempt in self._running.values()}
        for device in devices.values():
            # Runs that arrive faster than they are checked would fill the memory.
            if device.name in taken or device.name in self.set_aside or len(self._arrived) > 2 * len(devices):
                continue
            if job := self._next_job(device):
                parcel = self.parcels[job.plan_name]
                order = JobOrder(
                    job=sha256(f"{job.id} {device.name}".encode()).hexdigest(),
                    device=device.name,
                    work=parcel.work,
                    files=parcel.files,
                    command=self.command,
                    topic=self.cluster.topic,
                    arrived=self._to_forget.pop(device.name, ()),
                )
                self._ordered.add(order.job)
                self._running[self.cluster.send(order)] = Attempt(job, device.name, order)
                self.observer.started(job, device.name)

    def _next_job(self, device: FleetDevice) -> FleetJob | None:
        if own := self._pending.get(device.name):
            return own.popleft()
        if not is_wanted(device, self.wanted) or self._serves_others(device):
            return None
        shared = self._pending.get("", deque())
        job = next((job for job in shared if (job.id, device.name) not in self._unfit), None)
        if job:
            shared.remove(job)
        return job

    def _serves_others(self, device: FleetDevice) -> bool:
        """Whether it does something for another client: what it was last seen doing for us is over."""
        return bool(device.busy) and device.busy not in self._ordered

    def _listen(self, devices: Mapping[str, FleetDevice]) -> None:
        """Waits a moment for the next answer, then takes all that are there."""
        timeout_s = _LISTEN_S
        while True:
            try:
                key = self.cluster.answers.get(timeout=timeout_s)
            except queue.Empty:
                break
            timeout_s = 0.0
            if attempt := self._running.pop(key, None):
                self._handle(attempt, self.cluster.read_answer(key), devices)
        by_order = {attempt.order.job: attempt.job for attempt in self._running.values()}
        while not self.cluster.heard.empty():
            progress = self.cluster.heard.get()
            if job := by_order.get(progress.job):
                self.observer.progressed(job, progress)

    def _handle(self, attempt: Attempt, answer: JobAnswer, devices: Mapping[str, FleetDevice]) -> None:
        job, device = attempt.job, attempt.device
        if answer.end is JobEnd.DONE:
            self._arrived.append((attempt, answer))
        elif answer.end is JobEnd.STOPPED:
            # By its worker, which is ending, or because the scheduler was away: no fault of the device.
            self._pending.setdefault(job.device, deque()).append(job)
        elif answer.end is JobEnd.UNFIT:
            self._unfit[job.id, device] = answer.reason
            if job.device:
                self.end(JobResult(job, device, answer.reason))
            else:
                self._pending[""].append(job)
        elif answer.end is JobEnd.MISSING and device in devices:
            try:
                self.cluster.send_files(devices[device], self.parcels[job.plan_name], answer.missing)
                self._pending.setdefault(job.device, deque()).appendleft(job)
            except SchedulerLostError:
                raise
            except EtprofError as error:
                self._fail(attempt, error.message)
        else:
            self._fail(attempt, answer.reason or answer.end.value)

    def _take_in(self, devices: Mapping[str, FleetDevice]) -> None:
        while self._arrived:
            attempt, answer = self._arrived.popleft()
            device = devices.get(attempt.device)
            if device is None:
                # Its bytes are on a worker that is gone.
                self._fail(attempt, "its worker was lost before the run had arrived")
                continue
            try:
                parts = self.cluster.fetch(device, attempt.order.job, answer)
                failed = self.take_in(attempt.job, device, answer, parts)
                self._failures.pop(attempt.device, None)
                self.end(JobResult(attempt.job, attempt.device, failed_blocks=failed))
                if not self.exports:
                    # With its next order: a worker that has died meanwhile would be asked in vain for long.
                    self._to_forget[device.name] = (*self._to_forget.get(device.name, ()), attempt.order.job)
            except SchedulerLostError:
                raise
            except EtprofError as error:
                self._fail(attempt, error.message)

    def _notice_lost(self, devices: Mapping[str, FleetDevice]) -> None:
        for key, attempt in list(self._running.items()):
            if attempt.device not in devices:
                self.cluster.withdraw(key)
                del self._running[key]
                self._fail(attempt, "its worker was lost")

    def _fail(self, attempt: Attempt, reason: str) -> None:
        """Notes a failure of the device, and puts the job at the end of its queue: others may succeed before."""
        job, device = attempt.job, attempt.device
        self._to_forget[device] = (*self._to_forget.get(device, ()), *attempt.order.arrived)
        failures = self._failures.setdefault(device, [])
        failures.append(reason)
        self._tries[job.id] = self._tries.get(job.id, 0) + 1
        self.observer.told(f"{job.label} on {device}: {reason}")
        if len(failures) >= MOST_FAILURES and device not in self.set_aside:
            self.set_aside[device] = reason
            self.observer.told(f"{device} is set aside: it failed {len(failures)} times in a row, at last: {reason}")
        if self._tries[job.id] >= MOST_FAILURES and not job.device:
            self.end(JobResult(job, device, f"it failed {self._tries[job.id]} times, at last on {device}: {reason}"))
        else:
            self._pending.setdefault(job.device, deque()).append(job)

    def _give_up(self, devices: Mapping[str, FleetDevice]) -> None:
        """Ends jobs that no device is left for; one that is away is waited for, for a while or without limit."""
        now_s = time.monotonic()
        for name, jobs in self._pending.items():
            if not name:
                self._give_up_shared(devices, jobs)
            elif name in self.set_aside:
                self._end_all(jobs, f"{name} was set aside: {self.set_aside[name]}")
            elif not self.waits and now_s - self._seen_s[name] > self.absence_s:
                self._end_all(jobs, f"{name} is not offered any more; --wait waits for it")

    def _give_up_shared(self, devices: Mapping[str, FleetDevice], jobs: deque[FleetJob]) -> None:
        able = [each.name for each in devices.values() if is_wanted(each, self.wanted)]
        able = [name for name in able if name not in self.set_aside]
        if able:
            self._seen_s[""] = time.monotonic()
        is_over = not able and not self.waits and time.monotonic() - self._seen_s[""] > self.absence_s
        if not is_over and not self._unfit:
            return
        for job in list(jobs):
            reasons = [self._unfit[job.id, name] for name in able if (job.id, name) in self._unfit]
            if is_over or (able and len(reasons) == len(able)):
                jobs.remove(job)
                aside = "; ".join(f"{name} was set aside: {why}" for name, why in self.set_aside.items())
                nobody = "no worker that exports is there" if self.exports else "no device that matches is offered"
                self.end(JobResult(job, "", reasons[0] if reasons else aside or nobody))

    def _end_all(self, jobs: deque[FleetJob], reason: str) -> None:
        while jobs:
            job = jobs.popleft()
            self.end(JobResult(job, job.device, reason))

    def end(self, result: JobResult) -> None:
        self.results[result.job.id] = result
        self.observer.ended(result)


def is_wanted(device: FleetDevice, wanted: LabelExpression) -> bool:
    """Whether a device is chosen, by its labels or its name; one with another etprof would read plans differently."""
    return device.version == etprof.__version__ and wanted.matches({*device.labels, device.name})
