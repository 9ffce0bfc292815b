"""Turns the text after `--device` into a device that is ready to run blocks, and cleans up after it."""

import hashlib
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from etprof.core.errors import DeviceError, EtprofError, UsageError
from etprof.core.plan import Experiment
from etprof.core.run import DeviceInfo, Job
from etprof.devices import android, ssh
from etprof.devices.base import Device, runner_flags
from etprof.devices.description import describe
from etprof.devices.emulated import EmulatedDevice
from etprof.devices.emulator import (
    CPU_OPTIONS,
    MINIMUM_VERSION,
    PROGRAM,
    SME_VECTOR_BITS,
    Emulator,
    find_emulator,
    parse_auxiliary_vector,
    parse_version,
)
from etprof.devices.local import LocalDevice
from etprof.devices.preparation import prepared
from etprof.devices.remote import RemoteCommand, RemoteDevice
from etprof.devices.remote_folder import RemoteFolder
from etprof.devices.shell import Progress, RemoteShell, run_script
from etprof.pipeline import local_device, local_info
from etprof.runner.build import cache_dir
from etprof.runner.bundle import Bundle, ensure_bundle
from etprof.runner.cpu_features import parse_x86_flags, read_cpu_model
from etprof.runner.cross import resolve_parts
from etprof.runner.isa import ARM64_LINUX_HWCAPS
from etprof.runner.stock import build_stock_command, identify_runner
from etprof.store.digest import file_sha256

_TARGETS = {"arm64": "linux-arm64", "x86_64": "linux-x86_64"}
_DIAGNOSTICS_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class DeviceRequest:
    """What was asked for: `place` is what follows the kind of device and a colon."""

    kind: str
    place: str = ""
    experiments: tuple[Experiment, ...] = ()
    runner: str = "auto"
    folder: str = ""
    emulator: str = ""
    prepare: bool = False
    keep: bool = False
    progress: Progress = field(default=lambda _: None)
    say_command: Progress = field(default=lambda _: None)


@dataclass(frozen=True)
class OpenDevice:
    """A device that is ready, and what a reader of the report has to know of how it was had."""

    device: Device
    notes: tuple[str, ...] = ()


def parse_device(text: str) -> DeviceRequest:
    kind, _, place = text.partition(":")
    if kind not in DEVICES:
        known = "local, emulated, android[:SERIAL], ssh:USER@HOST[:PORT], recorded:DIR"
        raise UsageError(f"There is no device {text!r}.", hint=f"Devices: {known}.")
    return DeviceRequest(kind, place)


def open_device(request: DeviceRequest) -> AbstractContextManager[OpenDevice]:
    if request.kind != "local" and request.runner != "auto":
        raise UsageError("--runner is for this machine.", hint="Elsewhere our own runner is used, or `runner_path`.")
    is_remote = request.kind in ("android", "ssh")
    for option, value in (
        ("--device-folder", request.folder), ("--prepare", request.prepare), ("--keep-on-device", request.keep),
    ):  # fmt: skip
        if value and not is_remote:
            raise UsageError(f"{option} is for android and ssh devices.", hint=f"Leave out {option}.")
    if request.emulator and request.kind == "local":
        raise UsageError("--emulator needs a device to be emulated on.", hint="Add --device emulated.")
    return DEVICES[request.kind](request)


@contextmanager
def _open_local(request: DeviceRequest) -> Iterator[OpenDevice]:
    device, note = local_device(request.runner, request.progress)
    yield OpenDevice(_saying_commands(device, request), (note,) if note else ())


@contextmanager
def _open_emulated(request: DeviceRequest) -> Iterator[OpenDevice]:
    for path in (e.runner_path for e in request.experiments if e.runner_path):
        raise UsageError(f"{path} cannot be emulated here.", hint="Leave out runner_path: our own runner can.")
    emulator = find_emulator(cache_dir() / "emulator", request.emulator)
    bundle = _bundle("arm64", request.progress)
    runner = (*emulator.command, *bundle.command(str(bundle.folder)))

    done = subprocess.run(
        [*emulator.command, f"{bundle.folder}/lib/{bundle.loader}", "--list-diagnostics"],
        capture_output=True, text=True, timeout=_DIAGNOSTICS_TIMEOUT_S, check=False,
    )  # fmt: skip
    info = _as_emulated(
        DeviceInfo("emulated", "Linux", "arm64", "", os.cpu_count() or 1, ()),
        emulator.description,
        done.stdout,
        read_cpu_model(),
    )
    device = EmulatedDevice(lambda job: [*runner, *runner_flags(job)], info)
    yield OpenDevice(_saying_commands(device, request))


def _saying_commands(device: LocalDevice, request: DeviceRequest) -> LocalDevice:
    """The same device, saying each command line before it runs it."""

    def command_for(job: Job) -> list[str]:
        line = device.command_for(job)
        request.say_command(shlex.join([*job.block.experiment.launcher, *line]))
        return line

    return replace(device, command_for=command_for)


@contextmanager
def _open_android(request: DeviceRequest) -> Iterator[OpenDevice]:
    with _open_remote(android.open_shell(request.place), "android", android.FOLDER, request) as opened:
        yield opened


@contextmanager
def _open_ssh(request: DeviceRequest) -> Iterator[OpenDevice]:
    shell = ssh.open_shell(request.place)
    try:
        with _open_remote(shell, "linux", ssh.FOLDER, request) as opened:
            yield opened
    finally:
        shell.close()


@contextmanager
def _open_remote(shell: RemoteShell, platform: str, parent: str, request: DeviceRequest) -> Iterator[OpenDevice]:
    info = describe(shell, read_features)
    architecture = "arm64" if request.emulator else info.architecture
    _check_named_runners(request.experiments, architecture, shell.name)
    # Who brings runners of their own for every experiment needs no compiler for ours.
    all_named = request.experiments and all(e.runner_path for e in request.experiments)
    bundle = None if all_named and not request.emulator else _bundle(architecture, request.progress)
    folder = RemoteFolder(shell, request.folder or parent, request.progress)
    folder.make()
    try:
        if request.emulator and bundle:
            info = _describe_emulated(shell, folder, bundle, info, request.emulator)
        prefix = (request.emulator, *CPU_OPTIONS) if request.emulator else ()
        commands = _commands(bundle, prefix, request.say_command)
        device = RemoteDevice(shell, folder, info, commands, platform, request.progress)
        with prepared(shell, request.prepare, request.progress) as notes:
            yield OpenDevice(device, notes)
    finally:
        _clean_up(shell, folder, request)


def _clean_up(shell: RemoteShell, folder: RemoteFolder, request: DeviceRequest) -> None:
    progress = request.progress
    try:
        if request.keep:
            folder.leave()
            where = f" --device-folder {shlex.quote(request.folder)}" if request.folder else ""
            progress(f"{folder.path} stays on the device; remove it: etprof devices {shell.name} --clean{where}")
        else:
            folder.remove()
    except DeviceError as error:
        # Whatever ended the run is the news; that the device is gone must not hide it.
        progress(f"{folder.path} may still be on {shell.name}; the next run there removes it. {error.message}")


def _check_named_runners(experiments: tuple[Experiment, ...], architecture: str, device: str) -> None:
    for path in (e.runner_path for e in experiments if e.runner_path):
        found = identify_runner(path).architecture
        if found not in (None, architecture):
            raise UsageError(
                f"{path} is for {found}, and {device} is {architecture}.", hint="Leave out runner_path: ours fits."
            )


def _commands(bundle: Bundle | None, prefix: tuple[str, ...], say: Progress) -> Callable[[Job], RemoteCommand]:
    """How each job is started on the device: with our bundle, or with the runner its experiment names."""
    ours = {f"runner/{path.relative_to(bundle.folder)}": path for path in _files(bundle.folder)} if bundle else {}

    def command_for(job: Job) -> RemoteCommand:
        command = choose(job)
        say(shlex.join([*job.block.experiment.launcher, *command.arguments]))
        return command

    @cache
    def theirs(path: Path) -> tuple[dict[str, Path], str]:
        """A runner and the libraries beside it, in a folder named after their bytes: two runners never share one."""
        files = {p.name: p for p in sorted(path.parent.glob("*.so*"))} | {"runner": path}
        content = "".join(f"{name} {file_sha256(file)}\n" for name, file in files.items())
        folder = f"named-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
        return {f"{folder}/{name}": file for name, file in files.items()}, folder

    def choose(job: Job) -> RemoteCommand:
        path = job.block.experiment.runner_path
        if path is None:
            assert bundle is not None  # it is left out only where every experiment names a runner
            return RemoteCommand((*prefix, *bundle.command("runner"), *runner_flags(job)), ours)
        named = identify_runner(path)
        files, folder = theirs(path)
        here = replace(named, path=Path(folder, "runner"))
        flags = runner_flags(job) if named.is_ours else build_stock_command(here, job)[1:]
        return RemoteCommand(("env", f"LD_LIBRARY_PATH={folder}", *prefix, f"{folder}/runner", *flags), files)

    return command_for


def _describe_emulated(
    shell: RemoteShell, folder: RemoteFolder, bundle: Bundle, info: DeviceInfo, emulator: str
) -> DeviceInfo:
    """The CPU that an emulator on the device shows to the runner."""
    folder.send({"runner/lib/" + bundle.loader: bundle.folder / "lib" / bundle.loader})
    version = parse_version(run_script(shell, f"{shlex.quote(emulator)} --version").text)
    if version < MINIMUM_VERSION:
        raise DeviceError(
            f"{emulator} on {shell.name} is no QEMU that emulates SME2 (10.1 or newer).",
            hint=f"Name the path of {PROGRAM} on that device with --emulator.",
        )
    command = shlex.join([emulator, *CPU_OPTIONS, f"runner/lib/{bundle.loader}", "--list-diagnostics"])
    done = run_script(shell, f"cd {shlex.quote(folder.path)} && {command}")
    return _as_emulated(info, Emulator(emulator, version).description, done.text, info.cpu_model)


def _as_emulated(info: DeviceInfo, emulator: str, diagnostics: str, host_cpu: str) -> DeviceInfo:
    return replace(
        info,
        architecture="arm64",
        cpu_model=f"{emulator}, CPU max, on {host_cpu}",
        features=read_features("arm64", "", parse_auxiliary_vector(diagnostics)),
        sme_vector_bits=SME_VECTOR_BITS,
        times_are_real=False,
    )


def _bundle(architecture: str, progress: Progress) -> Bundle:
    if architecture not in _TARGETS:
        raise DeviceError(
            f"There is no runner for a {architecture} device.", hint="Known: " + ", ".join(_TARGETS) + "."
        )
    return ensure_bundle(*resolve_parts(_TARGETS[architecture], None, None, progress), progress=progress)


@dataclass(frozen=True)
class Reachable:
    """A device by the name `--device` takes, with what it says of itself or why it cannot be used."""

    name: str
    facts: tuple[str, ...] = ()
    trouble: str = ""


def list_devices(names: tuple[str, ...] = ()) -> list[Reachable]:
    """The devices named, or all that can be found: this machine, the emulator, and what adb sees."""
    return [_look_at(name) for name in names or _find_names()]


def clean_device(request: DeviceRequest) -> str:
    """Removes what `--keep-on-device` left on a device, as no run is using it; says which folder."""
    if request.kind == "android":
        return _clean_folder(android.open_shell(request.place), request.folder or android.FOLDER)
    if request.kind != "ssh":
        raise UsageError("--clean is for android and ssh devices.", hint="Name one: etprof devices ssh:HOST --clean.")
    shell = ssh.open_shell(request.place)
    try:
        return _clean_folder(shell, request.folder or ssh.FOLDER)
    finally:
        shell.close()


def _clean_folder(shell: RemoteShell, parent: str) -> str:
    folder = RemoteFolder(shell, parent, lambda _: None)
    folder.make()
    folder.remove()
    return f"{folder.path} is gone from {shell.name}"


def _find_names() -> list[str]:
    try:
        attached = [f"android:{device.serial}" for device in android.list_attached()]
    except EtprofError:
        attached = []
    return ["local", "emulated", *(attached or ["android"])]


def _look_at(name: str) -> Reachable:
    request = parse_device(name)
    try:
        return Reachable(name, _facts(_describe(request)))
    except UsageError:
        raise
    except EtprofError as error:
        return Reachable(name, trouble=f"{error.message} {error.hint}".rstrip())


def _describe(request: DeviceRequest) -> DeviceInfo:
    """What a device is, without leaving anything on it."""
    if request.kind == "android":
        return describe(android.open_shell(request.place), read_features)
    if request.kind == "ssh":
        shell = ssh.open_shell(request.place)
        try:
            return describe(shell, read_features)
        finally:
            shell.close()
    if request.kind == "emulated":
        emulator = find_emulator(cache_dir() / "emulator")
        return DeviceInfo(
            "emulated", "Linux", "arm64", f"{emulator.description}, CPU max", os.cpu_count() or 1, ("sme2",)
        )
    return local_info()


def _facts(info: DeviceInfo) -> tuple[str, ...]:
    facts = [
        ", ".join(part for part in (info.model, info.soc, info.system) if part),
        f"{info.cpu_model} ({info.cpu_count} cores, {info.architecture})",
        f"features: {', '.join(info.features) or 'none told'}",
    ]
    facts += [f"SME vector length: {info.sme_vector_bits} bits"] if info.sme_vector_bits else []
    facts += [f"{c.name} cores: {', '.join(map(str, c.cores))}" for c in info.clusters if c.name]
    return (*facts, f"governor: {info.governor}") if info.governor else tuple(facts)


def read_features(architecture: str, cpuinfo: str, auxiliary_vector: Mapping[int, int]) -> tuple[str, ...]:
    """The features that Linux reports, in cpuinfo's names."""
    if architecture == "arm64":
        return tuple(n for (entry, bit), n in ARM64_LINUX_HWCAPS.items() if auxiliary_vector.get(entry, 0) >> bit & 1)
    return tuple(name for name, present in parse_x86_flags(cpuinfo).items() if present)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


DEVICES: dict[str, Callable[[DeviceRequest], AbstractContextManager[OpenDevice]]] = {
    "local": _open_local,
    "emulated": _open_emulated,
    "android": _open_android,
    "ssh": _open_ssh,
}
