"""A runner that somebody else built, named by `runner_path`: what it is, and which flags it takes."""

from dataclasses import dataclass
from pathlib import Path

from etprof.core.errors import RunnerError, UsageError
from etprof.core.run import Job

OUR_MARK = b"etprof_runner: runs a .pte"
_STOCK_MARK = b"Model executed successfully"
_STOCK_FLAGS = (
    "model_path",
    "inputs",
    "num_executions",
    "cpu_threads",
    "etdump_path",
    "print_output",
)
_ELF_MAGIC = b"\x7fELF"
_ELF_MACHINES = {62: "x86_64", 183: "arm64"}
# Mach-O, 64 bits, little-endian: the magic number, then the CPU type.
_MACHO_MAGIC = b"\xcf\xfa\xed\xfe"
_MACHO_CPUS = {0x01000007: "x86_64", 0x0100000C: "arm64"}


@dataclass(frozen=True)
class NamedRunner:
    """A runner found at a path. `is_ours` means that it honours the whole runner contract."""

    path: Path
    is_ours: bool
    flags: frozenset[str]
    architecture: str | None


def identify_runner(path: Path) -> NamedRunner:
    """Recognises a runner by the texts inside it, so that it works for another machine's program as well."""
    if not path.is_file():
        raise UsageError(
            f"There is no runner {path}.", hint="Omit `runner_path`: `etprof runner build` builds one in seconds."
        )
    data = path.read_bytes()
    is_ours = OUR_MARK in data
    if not is_ours and _STOCK_MARK not in data:
        raise RunnerError(
            f"{path} is neither an ExecuTorch executor_runner nor a runner of etprof.",
            hint="Omit `runner_path`: `etprof runner build` builds one in seconds.",
        )
    flags = frozenset(name for name in _STOCK_FLAGS if name.encode() in data)
    return NamedRunner(path, is_ours, flags, _read_architecture(data))


def build_stock_flags(runner: NamedRunner, job: Job) -> list[str]:
    """The job in the flags this runner has.

    It has no warm-up of its own, so it runs that many iterations more; the reader of its log separates them again.
    """
    experiment = job.block.experiment
    if experiment.hide_isa:
        raise UsageError(
            f"{runner.path} is a stock executor_runner: it cannot hide {', '.join(experiment.hide_isa)}.",
            hint="Omit `runner_path`, or give each variant a runner built for it and no `hide_isa`.",
        )
    if experiment.load_options:
        raise UsageError(
            f"{runner.path} is a stock executor_runner: it takes no load options.",
            hint="Omit `runner_path`: etprof's own runner does.",
        )
    wanted = {
        "model_path": str(job.model),
        "inputs": ",".join(map(str, job.inputs)),
        "num_executions": str(experiment.warmup.minimum + experiment.runs),
        "cpu_threads": str(job.block.threads),
        "etdump_path": str(job.etdump),
        "print_output": "none",
    }
    missing = [name for name in ("inputs", "num_executions", "cpu_threads") if name not in runner.flags]
    if missing:
        raise RunnerError(
            f"{runner.path} has no flag --{missing[0]}, so it cannot run this block.",
            hint="It is too old. Omit `runner_path`: `etprof runner build` builds a runner in seconds.",
        )
    flags = (f"--{name}={value}" for name, value in wanted.items() if name in runner.flags and value)
    return [*flags, *experiment.extra_args]


def _read_architecture(data: bytes) -> str | None:
    if data[:4] == _ELF_MAGIC:
        return _ELF_MACHINES.get(int.from_bytes(data[18:20], "little"))
    if data[:4] == _MACHO_MAGIC:
        return _MACHO_CPUS.get(int.from_bytes(data[4:8], "little"))
    return None
