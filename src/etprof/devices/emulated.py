"""An Arm CPU with SME2 on any machine: the aarch64 runner under QEMU. Which kernels run is real, its times are not."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from etprof.core.errors import UsageError
from etprof.core.run import DeviceInfo
from etprof.devices.base import runner_flags
from etprof.devices.emulator import as_emulated, find_emulator
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice, note_bundle
from etprof.devices.local import LocalDevice, announced
from etprof.devices.turns import host_turn
from etprof.devices.usable_cores import count_usable_cores

_DIAGNOSTICS_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class EmulatedDevice(LocalDevice):
    @property
    def platform(self) -> str:
        return "emulated"


@contextmanager
def _open(request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
    for path in (e.runner_path for e in request.experiments if e.runner_path):
        raise UsageError(f"{path} cannot be emulated.", hint="Omit `runner_path`: our own runner can be.")
    emulator = find_emulator(parts.emulator_folder, request.emulator)
    bundle = parts.find_bundle("arm64", request.progress, request.bundle)
    runner = (*emulator.command, *bundle.command(str(bundle.folder)))
    done = subprocess.run(
        [*emulator.command, f"{bundle.folder}/lib/{bundle.loader}", "--list-diagnostics"],
        capture_output=True, text=True, timeout=_DIAGNOSTICS_TIMEOUT_S, check=False,
    )  # fmt: skip
    host = parts.describe_host()
    info = as_emulated(
        DeviceInfo("emulated", "Linux", "arm64", host.cpu_model, host.cpu_count, ()),
        emulator,
        done.stdout,
        parts.read_features,
    )
    command_for = announced(lambda job: [*runner, *runner_flags(job, is_emulated=True)], request.say_command)
    yield OpenDevice(
        EmulatedDevice(command_for, info),
        note_bundle(request, bundle),
        runner_sha256=bundle.files.digests(),
        take_turn=partial(host_turn, request.wait, request.progress),
    )


def _describe(request: DeviceRequest, parts: DeviceParts) -> DeviceInfo:
    """What needs no runner, which would have to be built first."""
    emulator = find_emulator(parts.emulator_folder, request.emulator)
    return DeviceInfo("emulated", "Linux", "arm64", f"{emulator.description}, CPU max", count_usable_cores(), ("sme2",))


KIND = DeviceKind(_open, _describe, frozenset({"--emulator", "--runner-bundle"}), find=lambda: ("",))
