"""The folder we make on a device: files reach it once, checked by digest, and it is the only thing ever deleted."""

import hashlib
import os
import re
import secrets
import shlex
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

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


# A folder is ours when nobody else can have made it; nobody else can change anything in it while it is private. Who
# has entered it stays in it, whatever is put in its place.
_CHECKS = f"""
umask 077
is_ours() {{ [ -d "$1" ] && [ ! -h "$1" ] && [ -O "$1" ] && [ -f "$1/{_MARK}" ]; }}
is_private() {{ case $(ls -ld "$1") in drwx--[-S]---*) ;; *) false ;; esac; }}
"""


class RemoteFolder:
    """`parent` exists on the device; the folder in it is named after this computer and user, and at random.

    Who `is_alone` on the device takes over what an earlier run left; otherwise it may be in use.
    """

    def __init__(self, shell: RemoteShell, parent: str, progress: Progress) -> None:
        identity = f"{socket.gethostname()}:{os.getuid()}"
        self._family = f"etprof-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
        self.path = f"{parent.rstrip('/')}/{self._family}-{secrets.token_hex(8)}"
        self.shell, self.is_alone = shell, True
        self._parent, self._progress = parent, progress
        self._digests: dict[Path, str] = {}
        self._confirmed: dict[str, str] = {}

    @property
    def enter(self) -> str:
        """The beginning of every script that works in the folder: one that is not ours any more is not entered."""
        refusal = "{ echo 'it is not ours alone any more' >&2; exit 90; }"
        return f"{_CHECKS}\ncd {shlex.quote(self.path)} && is_ours . && is_private . || {refusal}"

    def make(self) -> None:
        """Makes the folder, or takes over an earlier one, and tries to execute from it."""
        script = f"""{_CHECKS}
        cd {shlex.quote(self._parent)} || exit 10
        name={self._name} made=
        if {"true" if self.is_alone else "false"}; then
          for each in {self._name} {self._family}-*; do
            if is_ours "$each" && is_private "$each"; then name=$each; break; fi
          done
        fi
        if ! is_ours "$name"; then
          [ ! -e "$name" ] && [ ! -h "$name" ] || exit 11
          mkdir -m 700 "$name" && : > "$name/{_MARK}" && made=1 || exit 12
        fi
        echo "folder $name"
        cd "$name" || exit 12
        is_ours . && is_private . || {{ [ $made ] && rm {_MARK} && cd .. && rmdir "$name"; exit 14; }}
        # A busybox that prefers its own programs gives no path.
        shell=$(command -v sh); case $shell in /*) ;; *) shell=/bin/sh ;; esac
        printf '#!%s\\nexit 0\\n' "$shell" > probe && chmod 700 probe || exit 12
        ./probe; tried=$?; rm -f probe; [ $tried = 0 ] || exit 13
        """
        done = run_script(self.shell, script)
        if names := self._find_names(done):
            self.path = f"{self._parent.rstrip('/')}/{names[0]}"
        if done.exit_code not in (0, 10, 11, 14):
            self.remove()
        if done.exit_code:
            self._refuse(done)

    def send(self, files: Mapping[str, Path]) -> None:
        """Brings files to their names in the folder; what is there with the same digest is not sent again."""
        wanted = {name: self.digest(path) for name, path in files.items()}
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
        listed = run_script(self.shell, f"{self.enter} && find . -type f").text.splitlines()
        kept = {_MARK, *self._confirmed}
        others = [name for line in listed if (name := line.strip().removeprefix("./")) not in kept]
        run_script(self.shell, f"{self.enter} && rm -rf out {' '.join(shlex.quote(f'./{name}') for name in others)}")

    def remove(self) -> None:
        self.forget()
        self._remove(self._name)

    def remove_all(self) -> list[str]:
        """Removes this one and what earlier runs left, whatever they called it; returns the paths."""
        names = self._remove(f"{self._family} {self._family}-*")
        return [f"{self._parent.rstrip('/')}/{name}" for name in names]

    def _remove(self, pattern: str) -> list[str]:
        """From within, so that nothing that takes its place is touched; returns the names."""
        script = f"""{_CHECKS}
        cd {shlex.quote(self._parent)} || exit 0
        for each in {pattern}; do
          is_ours "$each" && (cd "$each" && is_ours . && rm -rf ./* ./.[!.]* ./..?*) && rmdir "$each" &&
            echo "folder $each"
        done
        """
        return self._find_names(run_script(self.shell, script))

    def _find_names(self, done: ScriptResult) -> list[str]:
        """Those that a script names: in letters that we use, and not as a login's words around it."""
        return re.findall(rf"^folder ({self._family}(?:-[0-9a-f]+)?)$", done.text, re.MULTILINE)

    @property
    def _name(self) -> str:
        return self.path.rpartition("/")[2]

    def _push(self, files: Mapping[str, Path]) -> None:
        total = sum(path.stat().st_size for path in files.values())
        counted = f"{len(files)} file{'s' if len(files) > 1 else ''}"
        meter = _Meter(self._progress, total, f"pushing {counted} to {self.shell.name}")
        for name, path in files.items():
            target, part = shlex.quote(name), shlex.quote(f"{name}.part")
            mode = "700" if os.access(path, os.X_OK) else "600"
            folder = shlex.quote(name.rpartition("/")[0] or ".")
            script = (
                f"{self.enter} && mkdir -p {folder} && cat > {part} && chmod {mode} {part} && "
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
        script = f"{self.enter} && sha256sum {listed} 2>/dev/null; true"
        said = run_script(self.shell, script, timeout_s=_HASH_TIMEOUT_S).text
        pairs = (line.split(None, 1) for line in said.splitlines() if line.strip())
        return {name.lstrip("*"): digest for digest, name in pairs}

    def digest(self, path: Path) -> str:
        """Of a file here; read once."""
        if path not in self._digests:
            self._digests[path] = file_sha256(path)
        return self._digests[path]

    def _refuse(self, done: ScriptResult) -> NoReturn:
        where = f"{self._parent} on {self.shell.name}"
        hint = "Name another folder on the device with --device-folder."
        messages = {
            10: f"There is no folder {where}, or it cannot be entered.",
            11: f"{self.path} on {self.shell.name} exists and was not made by etprof; it was not changed.",
            14: f"Other users could open a folder in {where}: its file system keeps no permissions.",
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
