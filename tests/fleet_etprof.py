"""The command line of etprof with scripted and recorded devices, as processes of a fleet of the tests' own.

Usage: python fleet_etprof.py <the command line of etprof>
`scripted:NAME` has the scripted runner, and `scripted:NAME=FACTOR` one that takes so much longer. `shared:NAME` takes
turns with whoever measures on this machine. `broken:NAME` cannot be opened. `recorded:DIR#NAME` gives the answers of a
recording.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType

from etprof.core.errors import DeviceError
from etprof.core.run import DeviceInfo
from etprof.devices import DEVICES
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice
from etprof.devices.recorded import RecordedDevice
from etprof.devices.turns import host_turn
from etprof.store.session_file import load_session
from scripted_device import scripted_device

_PATIENCE_S = 30.0


def _describe(request: DeviceRequest, _parts: DeviceParts) -> DeviceInfo:
    name = request.place.partition("=")[0]
    return replace(scripted_device().info, name=f"{request.kind}:{name}", soc=f"Chip {name}")


@contextmanager
def _open_scripted(request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
    # Runs differ a little, as they do everywhere.
    factor = float(request.place.partition("=")[2] or 1) * random.gauss(1, 0.004)
    device = scripted_device(lambda job: factor * (4.0 if job.block.experiment.hide_isa else 2.0))
    take_turn = partial(host_turn, True, request.progress)
    opened = OpenDevice(replace(device, info=_describe(request, parts)))
    yield replace(opened, take_turn=take_turn) if request.kind == "shared" else opened


@contextmanager
def _open_broken(request: DeviceRequest, _parts: DeviceParts) -> Iterator[OpenDevice]:
    raise DeviceError(f"{request.place} has a broken cable.")
    yield


@contextmanager
def _open_recorded(request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
    recording = Path(request.place.partition("#")[0])
    session = load_session(recording)
    info = _describe_recorded(request, parts)
    yield OpenDevice(RecordedDevice(recording, replace(session, device=info)))


def _describe_recorded(request: DeviceRequest, _parts: DeviceParts) -> DeviceInfo:
    return replace(scripted_device().info, name=f"recorded:{request.place.partition('#')[2]}")


_KINDS = {
    "scripted": DeviceKind(_open_scripted, _describe),
    "shared": DeviceKind(_open_scripted, _describe),
    "broken": DeviceKind(_open_broken, _describe),
    "recorded": DeviceKind(_open_recorded, _describe_recorded),
}


def add_kinds() -> None:
    for name, kind in _KINDS.items():
        module = ModuleType(f"etprof.devices.{name}")
        module.__dict__["KIND"] = kind
        sys.modules[module.__name__] = module
        DEVICES[name] = f"{name}:NAME"


@dataclass
class TestFleet:
    """A scheduler that Dask's own command starts, and workers that ours does; everything of them lies in `folder`."""

    __test__ = False

    folder: Path
    port: int
    scheduler: "subprocess.Popen[bytes] | None" = None
    workers: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    def start_scheduler(self) -> None:
        command = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port)]
        self.scheduler = self._start([*command, "--no-dashboard", "--dashboard-address", "127.0.0.1:0"], "scheduler")
        wait_until(self._answers, "the scheduler listens")

    def start_worker(self, *devices: str, **environment: str) -> "subprocess.Popen[bytes]":
        named = [word for device in devices for word in ("--device", device)]
        command = [__file__, "fleet", "worker", "--scheduler", self.address, "--spool", str(self.spool), *named]
        return self.start_etprof(*command, offers=len(devices), **environment)

    def start_etprof(self, *command: str, offers: int = 0, **environment: str) -> "subprocess.Popen[bytes]":
        """A worker, which is waited for until it offers so many devices."""
        log = self.folder / f"worker{len(self.workers)}"
        worker = self._start(list(command), log.name, **environment)
        self.workers.append(worker)
        text = log.with_suffix(".log")
        wait_until(
            lambda: text.read_text().count(" is offered") >= offers or worker.poll() is not None, "a worker offers"
        )
        assert worker.poll() is None, text.read_text()
        return worker

    def run(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """`etprof fleet run`, as a process that can be interrupted."""
        return subprocess.Popen(
            [sys.executable, __file__, "fleet", "run", *map(str, arguments), "--scheduler", self.address],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def _start(self, arguments: list[str], name: str, **environment: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments], stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, **environment},
            )  # fmt: skip

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


@contextmanager
def running_fleet(folder: Path) -> Iterator[TestFleet]:
    folder.mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        fleet = TestFleet(folder, probe.getsockname()[1])
    fleet.start_scheduler()
    try:
        yield fleet
    finally:
        for process in (*fleet.workers, fleet.scheduler):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in (*fleet.workers, fleet.scheduler):
            if process is not None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE_S)
                process.kill()
                process.wait()


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = _PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited for {timeout_s:g} s: {what}"
        time.sleep(0.02)


if __name__ in {"__main__", "__mp_main__"}:
    # A run's process is forked from one that has loaded this file, by the second name.
    add_kinds()
if __name__ == "__main__":
    from etprof.cli.main import main

    raise SystemExit(main())
