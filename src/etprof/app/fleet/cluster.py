"""A connection to the scheduler of a fleet: its devices, orders to them, and files to and from their workers."""

import queue
import secrets
import time
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from etprof.app.fleet import worker_tasks
from etprof.app.fleet.addresses import choose_security, find_scheduler, quiet_dask
from etprof.app.fleet.orders import JobOrder, Sendable
from etprof.app.fleet.spool import PART_BYTES, FilePart
from etprof.core.errors import DeviceError, StoreError
from etprof.core.fleet import FleetDevice, JobAnswer, JobEnd, JobProgress
from etprof.core.regular_files import open_regular

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_S = 10.0
# How long a scheduler may be silent before it is taken for gone.
_PATIENCE_S = 60.0
# A worker that has said nothing for so long is taken for gone: its machine is, or the network.
SILENCE_S = 60.0
_LOOK_EVERY_S = 1.0
_ANSWER_S = 30.0
# Meanwhile no other device gets its next job; a worker that is asked once more has its run ready.
_RESULT_S = 10.0
_LOOK_S = 5.0


class SchedulerLostError(DeviceError):
    """The scheduler does not answer any more; what has arrived is kept."""


@dataclass
class Cluster:
    """`answers` are those to orders, by the key that `send` gave; `heard` is how far runs are."""

    address: str
    _client: "Client"
    silence_s: float = SILENCE_S
    answers: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)
    heard: "queue.SimpleQueue[JobProgress]" = field(default_factory=queue.SimpleQueue)
    sender: str = field(default_factory=lambda: secrets.token_hex(16))
    _futures: "dict[str, Future[JobAnswer]]" = field(default_factory=dict)
    _seen: dict[str, tuple[float, float]] = field(default_factory=dict)
    _devices: tuple[float, list[FleetDevice]] = (0.0, [])
    _silent_s: float | None = None

    @property
    def topic(self) -> str:
        return f"{worker_tasks.INFORMATION}-{self.sender}"

    def list_devices(self, *, now: bool = False, exports: bool = False) -> list[FleetDevice]:
        """What workers offer, each device once, or with `exports` who exports; as of a second ago unless `now`."""
        return [each for each in self._list_offered(now=now) if each.exports == exports]

    def _list_offered(self, *, now: bool) -> list[FleetDevice]:
        looked_s, devices = self._devices
        if now or time.monotonic() - looked_s > _LOOK_EVERY_S:
            workers = self._list_workers()
            if workers is None:
                return devices
            found = [_read_device(address, each) for address, each in workers.items() if self._is_alive(address, each)]
            devices = sorted({each.name: each for each in found if each}.values(), key=lambda each: each.name)
            self._devices = time.monotonic(), devices
        return devices

    def _list_workers(self) -> dict[str, Any] | None:
        """None while the scheduler does not answer: Dask connects again by itself, and is given a while."""
        if self._client.status == "closed":
            raise self._lost()
        try:
            ask = self._client.scheduler.identity
            found: dict[str, Any] = self._client.sync(ask, n_workers=-1, callback_timeout=_LOOK_S)["workers"]
        except (OSError, RuntimeError) as error:
            # The latter where the client closes itself meanwhile.
            self._silent_s = self._silent_s or time.monotonic()
            if self._client.status == "closed" or time.monotonic() - self._silent_s > _PATIENCE_S:
                raise self._lost() from error
            return None
        if self._silent_s is not None:
            # Another scheduler may have taken its place.
            self._client.subscribe_topic(self.topic, self.hear)
            self._silent_s = None
        return found

    def send(self, order: JobOrder) -> str:
        """Gives a device an order; the key of its answer."""
        from distributed.client import ClosedClientError

        key = f"{worker_tasks.INFORMATION}-{order.job}-{secrets.token_hex(4)}"
        slot = {worker_tasks.resource_of(order.device): 1}
        try:
            future = self._client.submit(worker_tasks.run_job, order, key=key, pure=False, retries=0, resources=slot)
        except ClosedClientError as error:
            raise self._lost() from error
        self._futures[key] = future
        future.add_done_callback(lambda _: self.answers.put(key))
        return key

    def read_answer(self, key: str) -> JobAnswer:
        """The answer to an order; that there will be none is one, too."""
        future = self._futures.pop(key)
        try:
            if future.status == "cancelled":
                return JobAnswer(JobEnd.STOPPED, "the connection to the scheduler was lost")
            problem = future.exception(timeout=_RESULT_S)
            return future.result(timeout=_RESULT_S) if problem is None else JobAnswer(JobEnd.FAILED, _describe(problem))
        except (OSError, CancelledError) as error:
            # Its bytes were on a worker that is gone: Dask would wait until another computes them again.
            return JobAnswer(JobEnd.FAILED, _describe(error))
        finally:
            future.release()

    def withdraw(self, key: str) -> None:
        """Nobody waits for this answer any more; the worker stops the run and keeps its blocks."""
        future = self._futures.pop(key, None)
        # Without a scheduler there is nobody to tell: its end has stopped the run.
        if future is not None and self._client.status == "running":
            with suppress(OSError, CancelledError):
                future.cancel()

    def send_files(self, device: FleetDevice, parcel: Sendable, digests: tuple[str, ...]) -> None:
        for digest in digests:
            source = parcel.sources.get(digest)
            if source is None:
                raise StoreError(f"{device.name} asks for a file that is not part of the plan.")
            with open_regular(source) as file:
                self._send_file(device, digest, file)

    def _send_file(self, device: FleetDevice, digest: str, file: IO[bytes]) -> None:
        offset, content = 0, file.read(PART_BYTES)
        while True:
            following = file.read(PART_BYTES)
            part = FilePart(digest, self.sender, offset, content, is_last=not following)
            self._call(device.address, worker_tasks.take_part, device.name, part)
            if not following:
                return
            offset, content = offset + len(content), following

    def fetch(self, device: FleetDevice, job: str, answer: JobAnswer) -> Iterator[bytes]:
        """The bytes of a finished run, in parts."""
        offset, part = 0, answer.head
        while part:
            yield part
            offset += len(part)
            if offset >= answer.size:
                return
            part = self._call(device.address, worker_tasks.give_part, device.name, job, offset)

    def forget(self, device: FleetDevice, jobs: tuple[str, ...]) -> None:
        self._call(device.address, worker_tasks.forget_jobs, device.name, jobs)

    def _call(self, address: str, function: Any, *arguments: Any) -> Any:
        """What a function gives on a worker; that it does not answer is one of our errors."""
        if self._client.status == "closed":
            raise self._lost()
        try:
            # `Client.run`, which has no limit of time.
            run, limit = self._client._run, _ANSWER_S
            return self._client.sync(run, function, *arguments, workers=[address], callback_timeout=limit)[address]
        except (OSError, RuntimeError, KeyError) as error:
            if self._client.status == "closed":
                raise self._lost() from error
            raise DeviceError(f"The worker at {address} does not answer: {error}.") from error

    def _lost(self) -> SchedulerLostError:
        return SchedulerLostError(
            f"The scheduler at {self.address} does not answer any more.",
            hint="Start it again; then `etprof fleet run` with --resume goes on.",
        )

    def _is_alive(self, address: str, worker: dict[str, Any]) -> bool:
        """Clocks of machines differ: what counts is since when we see no newer word of it."""
        said, now_s = float(worker.get("last_seen") or 0.0), time.monotonic()
        if self._seen.get(address, (None, 0.0))[0] != said:
            self._seen[address] = said, now_s
        return now_s - self._seen[address][1] < self.silence_s

    def hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """What Dask calls with each event of our topic."""
        self.heard.put(JobProgress(**event[1]["progress"]))


@contextmanager
def connected(scheduler: str = "", silence_s: float = SILENCE_S) -> Iterator[Cluster]:
    address = find_scheduler(scheduler)
    security = choose_security(address)
    from distributed import Client

    with quiet_dask():
        try:
            client = Client(address, security=security, timeout=_CONNECT_S, set_as_default=False)
        except OSError as error:
            raise DeviceError(
                f"No scheduler answers at {address}.", hint="Start one: `etprof fleet up`, or name another address."
            ) from error
        cluster = Cluster(address, client, silence_s)
        try:
            client.subscribe_topic(cluster.topic, cluster.hear)
            yield cluster
        finally:
            for key in list(cluster._futures):
                cluster.withdraw(key)
            with suppress(OSError):
                client.close(timeout=_CONNECT_S)


def _describe(problem: BaseException) -> str:
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    # Other errors of the system are those of a task.
    if isinstance(problem, ConnectionError | TimeoutError | CommClosedError | CancelledError | KilledWorker):
        return f"its worker was lost ({type(problem).__name__})"
    return f"its worker could not: {type(problem).__name__}: {problem}"


def _read_device(address: str, worker: dict[str, Any]) -> FleetDevice | None:
    """What a worker of ours says of its device; None for other workers of the cluster."""
    said = worker.get(worker_tasks.INFORMATION)
    if not isinstance(said, dict):
        return None
    return FleetDevice(
        name=str(said["device"]),
        address=address,
        labels=frozenset(said["labels"]),
        facts=str(said["facts"]),
        spool=str(said["spool"]),
        version=str(said["version"]),
        busy=str((worker.get("metrics") or {}).get(worker_tasks.INFORMATION) or ""),
        trouble=str(said["trouble"]),
        exports=bool(said.get("exports")),
    )
