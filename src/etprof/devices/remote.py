"""A device at the other end of a shell: pushes what a block needs, runs it under a guard, and brings its files back."""

import io
import re
import shlex
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from etprof.core.errors import DeviceError
from etprof.core.result_limits import is_possible
from etprof.core.run import CpuState, DeviceInfo, Job, JobOutcome
from etprof.devices import state
from etprof.devices.base import remove_stale_files
from etprof.devices.remote_folder import RemoteFolder
from etprof.devices.shell import (
    ConnectionLostError,
    Progress,
    RemoteShell,
    ScriptTimeoutError,
    UnexpectedAnswerError,
    run_script,
)

_OUT = "out"
_PULL_TIMEOUT_S = 600.0
# How much longer than the block itself the script around it may take.
_MARGIN_S = 60.0
_LOST_AT_MOST = 3
_POLL_S = 0.5
_MISSING_LIBRARY = re.compile(r"loading shared libraries: (\S+?):|library \"([^\"]+)\" not found")
_OLD_LIBRARY = re.compile(r"version `(GLIBC\w*_[\d.]+)' not found")
# A shell calls a program "not found" whose loader is missing: the path behind it is there, it was just sent.
_NO_LOADER = re.compile(r"named-\w+/runner\S*:? .*(not found|No such file)")
_CODE = re.compile(r"code (\d{1,3})\s*\Z")
_OUTPUT = re.compile(r"output_\d+\.bin")

# The runner gets a process group of its own, and two guards that end it: one when standard input closes, which is when
# the connection is lost or given up; one when the time is over or this shell was killed. The second guard looks every
# few seconds only, so as not to disturb. A shell that reports a killed runner must survive that nobody reads it.
_BLOCK_SCRIPT = r"""
@ENTER@
rm -rf out && mkdir out || exit 91
exec 3<&0
@STATE@ > out/state_before
setsid @COMMAND@ > out/log 2>&1 < /dev/null 3<&- &
runner=$!
trap '' PIPE
setsid sh -c 'cat > /dev/null; kill -9 -$1' sh $runner <&3 3<&- > /dev/null 2>&1 &
link=$!
setsid sh -c '
  # A killed shell may stay as a zombie; its children get another parent all the same, even before their first check.
  shell=$3
  has_parent() { read -r line < /proc/$$/stat && set -- ${line##*) } && [ $2 = $shell ]; }
  left=@TIMEOUT@
  while [ $left -gt 0 ] && has_parent && kill -0 $1; do
    if [ $left -gt 5 ]; then step=5; else step=$left; fi
    sleep $step; left=$((left - step))
  done
  kill -0 $1 && [ $left -eq 0 ] && : > out/timed_out
  kill -9 -$1 -$2 $2
' sh $runner $link $$ < /dev/null 3<&- > /dev/null 2>&1 &
clock=$!
wait $runner 2> /dev/null
code=$?
kill -9 $link $clock -$link -$clock -$runner 2> /dev/null
wait $link $clock 2> /dev/null
@STATE@ > out/state_after
echo "code $code"
"""


@dataclass(frozen=True)
class RemoteCommand:
    """A runner's command line on the device, from our folder there, and the files it is made of."""

    arguments: tuple[str, ...]
    files: dict[str, Path]


# The job it is given has the names its files have on the device.
CommandFor = Callable[[Job], RemoteCommand]


@dataclass(frozen=True)
class RemoteDevice:
    """`patience_s` is how long a device that went away is waited for; `ensure_turn` takes our turn there again."""

    shell: RemoteShell
    folder: RemoteFolder
    info: DeviceInfo
    command_for: CommandFor
    platform: str
    progress: Progress = lambda _: None
    patience_s: float = 60.0
    ensure_turn: Callable[[], None] = lambda: None

    def describe(self) -> DeviceInfo:
        return self.info

    def run(self, job: Job) -> JobOutcome:
        self._check_cores(job.block.experiment.cpu_affinity)
        interruptions: list[str] = []
        while True:
            remove_stale_files(job)
            try:
                outcome = self._run_once(job)
                return replace(outcome, interruptions=tuple(interruptions))
            except UnexpectedAnswerError as error:
                # The block has failed; the next may be answered.
                return JobOutcome(None, 0.0, error.message, tuple(interruptions))
            except ConnectionLostError as error:
                interruptions.append(f"{self.shell.name} was lost")
                if len(interruptions) > _LOST_AT_MOST:
                    raise
                self._wait_until_back(error)

    def _check_cores(self, wanted: tuple[int, ...]) -> None:
        cores = {core for cluster in self.info.clusters for core in cluster.cores}
        if absent := set(wanted) - cores:
            raise DeviceError(
                f"cpu_affinity names cores that do not exist: {', '.join(map(str, sorted(absent)))}.",
                hint=f"Cores of {self.shell.name}: {', '.join(map(str, sorted(cores)))}.",
            )

    def _run_once(self, job: Job) -> JobOutcome:
        # Named by content: programs that take turns stay there, and what they share is there once.
        model = {} if job.peak_passes is not None else {self._name_there("model", job.model): job.model}
        inputs = [(self._name_there("input", path), path) for path in job.inputs]
        workload = {self._name_there("workload", job.workload): job.workload} if job.workload else {}
        there = _on_device(job, "".join(model), tuple(name for name, _ in inputs), "".join(workload))
        command = self.command_for(there)
        self.ensure_turn()
        self.folder.send({**command.files, **model, **dict(inputs), **workload})
        start = time.monotonic()
        script = self._script(job, command.arguments)
        try:
            done = run_script(self.shell, script, timeout_s=job.timeout_s + _MARGIN_S)
        except ScriptTimeoutError as error:
            return JobOutcome(None, time.monotonic() - start, error.message)
        duration_s = time.monotonic() - start
        if done.exit_code:
            raise DeviceError(
                f"{self.folder.path} on {self.shell.name} cannot be written to: {done.errors.strip() or 'it is gone'}.",
                hint="Free some space there, or name another folder with --device-folder.",
            )
        code = _parse_code(done.text)
        files = self._pull(job)
        problem = _problem(code, files, job)
        before, after = (_parse_state(files.get(f"state_{when}", b"")) for when in ("before", "after"))
        return JobOutcome(code, duration_s, problem, before=before, after=after)

    def _name_there(self, kind: str, path: Path) -> str:
        return f"{kind}_{self.folder.digest(path)[:16]}{path.suffix}"

    def _script(self, job: Job, arguments: tuple[str, ...]) -> str:
        experiment = job.block.experiment
        pinned = (
            ("taskset", f"{sum(1 << core for core in experiment.cpu_affinity):x}") if experiment.cpu_affinity else ()
        )
        parts = {
            "ENTER": self.folder.enter,
            "COMMAND": shlex.join([*pinned, *experiment.launcher, *arguments]),
            "TIMEOUT": str(max(1, round(job.timeout_s))),
            "STATE": f"{{\n{state.SCRIPT}\n}} 2>/dev/null",
        }
        return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], _BLOCK_SCRIPT)

    def _pull(self, job: Job) -> dict[str, bytes]:
        """Brings the block's files to where the job wants them; returns all of them by name."""
        done = run_script(self.shell, f"{self.folder.enter} && cd out && tar -cf - .", timeout_s=_PULL_TIMEOUT_S)
        files = _unpack(done.output) if not done.exit_code else {}
        targets = {
            "log": job.log, "result.json": job.result, "trace.etdump": job.etdump, "trace.kernels": job.samples,
            "times.steps": job.steps,
        }  # fmt: skip
        for name, target in targets.items():
            if target and name in files:
                target.write_bytes(files[name])
        outputs = {name: data for name, data in files.items() if _OUTPUT.fullmatch(name.removeprefix("outputs/"))}
        if outputs:
            job.outputs.mkdir(parents=True, exist_ok=True)
        for name, data in outputs.items():
            (job.outputs / name.removeprefix("outputs/")).write_bytes(data)
        return files

    def _wait_until_back(self, error: ConnectionLostError) -> None:
        self.progress(f"{error.message} Waiting up to {self.patience_s:g} s for it.")
        deadline = time.monotonic() + self.patience_s
        while not self.shell.reconnect():
            if time.monotonic() > deadline:
                raise error
            time.sleep(_POLL_S)
        # The device may have been restarted, or be another one with the same name, so everything is checked again.
        self.folder.forget()
        self.ensure_turn()
        self.folder.make()
        self.progress(f"{self.shell.name} is back")


def _on_device(job: Job, model: str, inputs: tuple[str, ...], workload: str) -> Job:
    """The same job in the names its files have in our folder on the device."""
    return replace(
        job,
        model=Path(model),
        inputs=tuple(Path(name) for name in inputs),
        result=Path(_OUT, "result.json"),
        etdump=Path(_OUT, "trace.etdump"),
        samples=Path(_OUT, "trace.kernels") if job.samples else None,
        log=Path(_OUT, "log"),
        outputs=Path(_OUT, "outputs"),
        workload=Path(workload) if workload else None,
        steps=Path(_OUT, "times.steps") if job.steps else None,
        packed_cache=Path(job.packed_cache.name) if job.packed_cache else None,
    )


def _problem(code: int, files: dict[str, bytes], job: Job) -> str:
    if "timed_out" in files:
        return f"timed out after {job.timeout_s:g} s"
    if code == 0:
        return ""
    log = files.get("log", b"").decode("utf-8", errors="replace")
    missing = _MISSING_LIBRARY.search(log)
    if missing:
        return f"the runner needs {missing[1] or missing[2]}, which the device does not have: put it beside the runner"
    if old := _OLD_LIBRARY.search(log):
        return f"the runner needs {old[1]}, and the device's C library is older: omit runner_path, etprof's runner fits"
    if code == 127 and _NO_LOADER.search(log):
        return "the runner was built for another C library than the device has: omit runner_path, etprof's runner fits"
    return f"killed by signal {code - 128}" if code > 128 else f"exit code {code}"


def _parse_code(said: str) -> int:
    found = _CODE.search(said)
    if not found:
        raise UnexpectedAnswerError("The device did not say how the runner ended.")
    return int(found[1])


def _parse_state(said: bytes) -> CpuState:
    try:
        found = state.parse_state(said.decode())
    except (ValueError, LookupError, OverflowError) as error:
        raise UnexpectedAnswerError(f"The state of the device cannot be read: {error}.") from error
    if not is_possible(found):
        raise UnexpectedAnswerError("The state of the device cannot be: a number is out of range.")
    return found


def _unpack(archive: bytes) -> dict[str, bytes]:
    """The plain files of an archive as it came: one that is compressed could be any size, and nobody asked for it."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            for entry in tar:
                # A sparse file can claim any size in a few bytes.
                content = tar.extractfile(entry) if entry.isreg() and not entry.issparse() else None
                if content:
                    files[entry.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, OSError, ValueError, OverflowError, EOFError) as error:
        raise UnexpectedAnswerError(f"The files of the block cannot be read: {error}.") from error
    return files
