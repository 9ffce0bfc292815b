"""The folder we make on a device: files reach it once, checked by digest, and it is the only thing ever deleted."""

import fcntl
import hashlib
import os
import shlex
import socket
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn, TextIO

from etprof.core.digest import file_sha256
from etprof.core.errors import DeviceError
from etprof.core.units import format_bytes
from etprof.devices.shell import Progress, RemoteShell, ScriptResult, run_script

# Space for what a block writes: its log, its result, a trace and the outputs.
_SPACE_FOR_RESULTS_BYTES = 8 << 20
# A slow link still has megabytes on their way when the last byte was handed over.
_STALL_TIMEOUT_S = 300.0
_HASH_TIMEOUT_S = 300.0
_REPORT_EVERY_BYTES = 8 << 20
_REPORT_EVERY_S = 5.0
_MARK = ".made-by-etprof"


class RemoteFolder:
    """`parent` exists on the device; the folder in it is named after this computer and user, and contains our mark."""

    def __init__(self, shell: RemoteShell, parent: str, progress: Progress) -> None:
        identity = f"{socket.gethostname()}:{os.getuid()}"
        self.path = f"{parent.rstrip('/')}/etprof-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
        self.shell, self._parent, self._progress = shell, parent, progress
        self._digests: dict[Path, str] = {}
        self._confirmed: dict[str, str] = {}
        self._locked: TextIO | None = None

    def make(self) -> None:
        """Makes the folder, or takes over what an interrupted run left of it, and tries to execute from it."""
        self._lock()
        script = f"""
        cd {shlex.quote(self._parent)} || exit 10
        if [ -d {self._name} ]; then [ -f {self._name}/{_MARK} ] || exit 11; else
          mkdir {self._name} || exit 12
        fi
        : > {self._name}/{_MARK} || exit 12
        cd {self._name} || exit 12
        printf '#!%s\\nexit 0\\n' "$(command -v sh)" > probe && chmod 755 probe || exit 12
        ./probe; tried=$?; rm -f probe; [ $tried = 0 ] || exit 13
        """
        done = run_script(self.shell, script)
        if done.exit_code in (10, 11):
            self._unlock()
        elif done.exit_code:
            self.remove()
        if done.exit_code:
            self._refuse(done)

    def _lock(self) -> None:
        """Two runs from this computer would share one folder, and one CPU. The lock ends with this process."""
        if self._locked is not None:
            return
        place = hashlib.sha256(f"{self.shell.name}:{self.path}".encode()).hexdigest()[:16]
        path = Path(tempfile.gettempdir()) / f"etprof-{os.getuid()}-{place}.lock"
        file = path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise DeviceError(
                f"Another run is using {self.shell.name}.",
                hint="Wait until it has finished, or name another --device-folder.",
            ) from error
        self._locked = file

    def send(self, files: Mapping[str, Path]) -> None:
        """Brings files to their names in the folder; what is there with the same digest is not sent again."""
        wanted = {name: self._digest(path) for name, path in files.items()}
        unknown = {name: digest for name, digest in wanted.items() if self._confirmed.get(name) != digest}
        if not unknown:
            return
        present = self._read_digests(list(unknown))
        missing = {name: files[name] for name, digest in unknown.items() if present.get(name) != digest}
        if missing:
            self._check_space(sum(path.stat().st_size for path in missing.values()))
            self._push(missing)
            present = self._read_digests(list(unknown))
            broken = [name for name, digest in unknown.items() if present.get(name) != digest]
            if broken:
                raise DeviceError(
                    f"{broken[0]} was damaged on its way to {self.shell.name}.",
                    hint="Check the cable and the device's storage; the run continues with --resume.",
                )
        self._confirmed.update(unknown)

    def forget(self) -> None:
        """What is on the device has to be checked again: the connection was lost."""
        self._confirmed.clear()

    def leave(self) -> None:
        """Keeps for the next run what this one sent and used, and nothing else of it."""
        listed = run_script(self.shell, f"cd {shlex.quote(self.path)} && find . -type f").text.splitlines()
        kept = {_MARK, *self._confirmed}
        others = [name for line in listed if (name := line.strip().removeprefix("./")) not in kept]
        script = f"cd {shlex.quote(self.path)} && rm -rf out {' '.join(shlex.quote(f'./{name}') for name in others)}"
        try:
            run_script(self.shell, script)
        finally:
            self._unlock()

    def remove(self) -> None:
        script = f"""
        cd {shlex.quote(self._parent)} || exit 0
        [ ! -f {self._name}/{_MARK} ] || rm -rf {self._name}
        """
        self.forget()
        try:
            run_script(self.shell, script)
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._locked is not None:
            # While it is still locked: nobody else can be holding this file.
            Path(self._locked.name).unlink(missing_ok=True)
            self._locked.close()
            self._locked = None

    @property
    def _name(self) -> str:
        return self.path.rpartition("/")[2]

    def _push(self, files: Mapping[str, Path]) -> None:
        total = sum(path.stat().st_size for path in files.values())
        counted = f"{len(files)} file{'s' if len(files) > 1 else ''}"
        meter = _Meter(self._progress, total, f"pushing {counted} to {self.shell.name}")
        for name, path in files.items():
            target, part = shlex.quote(name), shlex.quote(f"{name}.part")
            mode = "755" if os.access(path, os.X_OK) else "644"
            folder = shlex.quote(name.rpartition("/")[0] or ".")
            script = (
                f"cd {shlex.quote(self.path)} && mkdir -p {folder} && cat > {part} && chmod {mode} {part} && "
                f"mv {part} {target} || {{ rm -f {part}; exit 1; }}"
            )
            done = run_script(self.shell, script, timeout_s=_STALL_TIMEOUT_S, source=path, sent=meter.sent)
            if done.exit_code:
                raise DeviceError(
                    f"{path.name} could not be written to {self.path} on {self.shell.name}: {_last_line(done)}.",
                    hint="Free some space there, or name another folder with --device-folder.",
                )

    def _check_space(self, needed_bytes: int) -> None:
        done = run_script(self.shell, f"df -k -P {shlex.quote(self.path)}")
        fields = done.text.strip().splitlines()[-1].split() if done.text.strip() else []
        if done.exit_code or len(fields) < 4 or not fields[3].isdigit():
            return
        free = int(fields[3]) * 1024
        needed = needed_bytes + _SPACE_FOR_RESULTS_BYTES
        if free < needed:
            raise DeviceError(
                f"{self._parent} on {self.shell.name} has {format_bytes(free)} free and needs {format_bytes(needed)}.",
                hint="Free some space there, or name another folder with --device-folder.",
            )

    def _read_digests(self, names: list[str]) -> dict[str, str]:
        listed = " ".join(shlex.quote(name) for name in names)
        script = f"cd {shlex.quote(self.path)} && sha256sum {listed} 2>/dev/null; true"
        said = run_script(self.shell, script, timeout_s=_HASH_TIMEOUT_S).text
        pairs = (line.split(None, 1) for line in said.splitlines() if line.strip())
        return {name.lstrip("*"): digest for digest, name in pairs}

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            self._digests[path] = file_sha256(path)
        return self._digests[path]

    def _refuse(self, done: ScriptResult) -> NoReturn:
        where = f"{self._parent} on {self.shell.name}"
        hint = "Name another folder on the device with --device-folder."
        messages = {
            10: f"There is no folder {where}, or it cannot be entered.",
            11: f"{self.path} on {self.shell.name} exists and was not made by etprof; it was not changed.",
            13: f"Programs cannot be executed in {where}: {_last_line(done)}.",
        }
        message = messages.get(done.exit_code, f"No folder can be made in {where}: {_last_line(done)}.")
        raise DeviceError(message, hint=hint)


class _Meter:
    """Reports the progress of a push, now and then."""

    def __init__(self, progress: Progress, total: int, what: str) -> None:
        self._progress, self._total, self._what = progress, total, what
        self._sent = self._said = 0
        self._said_at = time.monotonic()
        progress(f"{what}: {format_bytes(total)}")

    def sent(self, count: int) -> None:
        self._sent += count
        now = time.monotonic()
        if self._sent - self._said >= _REPORT_EVERY_BYTES or now - self._said_at >= _REPORT_EVERY_S:
            self._said, self._said_at = self._sent, now
            self._progress(f"{self._what}: {format_bytes(self._sent)} of {format_bytes(self._total)}")


def _last_line(done: ScriptResult) -> str:
    lines = [line for line in done.errors.strip().splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit code {done.exit_code}"
