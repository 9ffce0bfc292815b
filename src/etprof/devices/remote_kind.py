"""What all kinds of devices behind a shell have in common: how they are opened, described and cleaned."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial

from etprof.core.errors import DeviceError, UsageError
from etprof.core.plan import Experiment
from etprof.core.run import DeviceInfo
from etprof.devices.description import describe
from etprof.devices.emulator import CPU_OPTIONS, MINIMUM_VERSION, PROGRAM, Emulator, as_emulated, parse_version
from etprof.devices.keeper import Keeper
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice, RunnerBundle, note_bundle
from etprof.devices.preparation import prepare, prepared
from etprof.devices.remote import RemoteDevice
from etprof.devices.remote_commands import build_commands
from etprof.devices.remote_folder import RemoteFolder
from etprof.devices.shell import RemoteShell, run_script

_OPTIONS = frozenset({"--device-folder", "--prepare", "--keep-on-device", "--emulator", "--runner-bundle"})


def build_remote_kind(
    open_shell: Callable[[str], RemoteShell],
    *,
    folder: str,
    platform: str,
    find: Callable[[], Sequence[str]] = lambda: (),
    summary: str = "",
) -> DeviceKind:
    """`open_shell` takes a place; `folder` is where we work on such a device unless another one is named."""

    @contextmanager
    def open_device(request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
        with closing(open_shell(request.place)) as shell:
            there = RemoteFolder(shell, request.folder or folder, request.progress)
            with _opened(there, platform, request, parts) as opened:
                yield opened

    def describe_device(request: DeviceRequest, parts: DeviceParts) -> DeviceInfo:
        with closing(open_shell(request.place)) as shell:
            return describe(shell, parts.read_features)

    def clean(request: DeviceRequest) -> str:
        with closing(open_shell(request.place)) as shell:
            parent = request.folder or folder
            with closing(Keeper(shell, request.progress)) as keeper:
                keeper.start(wait=False)
                removed = RemoteFolder(shell, parent, request.progress).remove_all()
            if not removed:
                return f"nothing of etprof is in {parent} on {shell.name}"
            return f"{', '.join(removed)} {'was' if len(removed) == 1 else 'were'} removed from {shell.name}"

    return DeviceKind(open_device, describe_device, _OPTIONS, find, clean, summary)


@contextmanager
def _opened(folder: RemoteFolder, platform: str, request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
    shell = folder.shell
    info = describe(shell, parts.read_features)
    architecture = "arm64" if request.emulator else info.architecture
    _check_named_runners(request.experiments, architecture, shell.name, parts)
    # Who brings runners of their own for every experiment needs no compiler for ours.
    all_named = request.experiments and all(e.runner_path for e in request.experiments)
    needs_ours = request.emulator or not all_named
    bundle = parts.find_bundle(architecture, request.progress, request.bundle) if needs_ours else None
    with closing(Keeper(shell, request.progress)) as keeper:
        waited_s = keeper.start(wait=request.wait)
        folder.is_alone = keeper.is_locked
        folder.make()
        try:
            if request.emulator and bundle:
                info = _describe_emulated(folder, bundle, info, request.emulator, parts)
            prefix = (request.emulator, *CPU_OPTIONS) if request.emulator else ()
            commands = build_commands(bundle, prefix, parts, request.say_command)
            device = RemoteDevice(
                shell, folder, info, commands, platform, request.progress,
                ensure_turn=partial(_ensure_turn, keeper, request),
            )  # fmt: skip
            with prepared(keeper, request.prepare, request.progress) as settings:
                digests = bundle.files.digests() if bundle else {}
                notes = (*note_bundle(request, bundle), *settings.notes)
                yield OpenDevice(device, notes, digests, settings.held, lambda: nullcontext(waited_s))
        finally:
            _clean_up(folder, request)


def _ensure_turn(keeper: Keeper, request: DeviceRequest) -> None:
    """A device that was lost has restored its settings; one that was restarted has none of ours."""
    if keeper.ensure() and request.prepare:
        prepare(keeper, request.progress)


def _check_named_runners(
    experiments: tuple[Experiment, ...], architecture: str, device: str, parts: DeviceParts
) -> None:
    for path in (e.runner_path for e in experiments if e.runner_path):
        found = parts.named_runner_architecture(path)
        if found not in (None, architecture):
            raise UsageError(
                f"{path} is for {found}, and {device} is {architecture}.",
                hint="Omit `runner_path`: ours fits.",
            )


def _describe_emulated(
    folder: RemoteFolder, bundle: RunnerBundle, host: DeviceInfo, emulator: str, parts: DeviceParts
) -> DeviceInfo:
    """The CPU that an emulator on the device shows to the runner."""
    shell = folder.shell
    folder.send({"runner/lib/" + bundle.loader: bundle.folder / "lib" / bundle.loader})
    version = parse_version(run_script(shell, f"{shlex.quote(emulator)} --version").text)
    if version < MINIMUM_VERSION:
        raise DeviceError(
            f"{emulator} on {shell.name} is not a QEMU that emulates SME2 (10.1 or newer).",
            hint=f"Name the path of {PROGRAM} on that device with --emulator.",
        )
    command = shlex.join([emulator, *CPU_OPTIONS, f"runner/lib/{bundle.loader}", "--list-diagnostics"])
    done = run_script(shell, f"{folder.enter} && {command}")
    return as_emulated(host, Emulator(emulator, version), done.text, parts.read_features)


def _clean_up(folder: RemoteFolder, request: DeviceRequest) -> None:
    device, progress = folder.shell.name, request.progress
    try:
        if request.keep and folder.is_alone:
            folder.leave()
            where = f" --device-folder {shlex.quote(request.folder)}" if request.folder else ""
            progress(f"{folder.path} stays on the device; remove it: etprof devices clean {device}{where}")
        else:
            folder.remove()
    except DeviceError as error:
        # Whatever ended the run is the news; that the device is gone must not hide it.
        progress(f"{folder.path} may still be on {device}; the next run there removes it. {error.message}")
