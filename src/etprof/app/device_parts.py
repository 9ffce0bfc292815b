"""What devices need from the runners: this machine's runner, bundles for other machines, and the features of a CPU."""

import fcntl
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from etprof.core.digest import RunnerFiles
from etprof.core.errors import DependencyError, DeviceError, UsageError
from etprof.core.run import DeviceInfo, Job
from etprof.core.runtimes import RUNTIMES
from etprof.devices.base import runner_flags
from etprof.devices.core_types import count_performance_cores, read_local_clusters
from etprof.devices.kind import HostRunner
from etprof.devices.shell import Progress
from etprof.devices.sme_units import read_local_sme_units
from etprof.devices.usable_cores import count_usable_cores
from etprof.export.dependencies import TESTED, installed_version, require_supported
from etprof.runner import block_runner, python_runner, sequence, work
from etprof.runner.build import cache_dir, ensure_runner
from etprof.runner.bundle import Bundle, ensure_bundle
from etprof.runner.bundle_archive import open_archive
from etprof.runner.cpu_features import (
    host_architecture,
    parse_x86_flags,
    present_features,
    read_cpu_model,
    read_sme_vector_bits,
)
from etprof.runner.cpu_state import read_governor
from etprof.runner.cross import resolve_parts
from etprof.runner.isa import ARM64_LINUX_HWCAPS
from etprof.runner.private_folders import check_private
from etprof.runner.sdk import installed_sdk
from etprof.runner.stock import build_stock_flags, identify_runner

RUNNERS = ("auto", "native", "python")
# `python -m` would put the current directory first, where a user's ./executorch checkout hides the installed wheel.
_PYTHON_RUNNER = (
    "import sys; sys.path = [p for p in sys.path if p]; from etprof.runner.{} import main; sys.exit(main())"
)
_TARGETS = {"arm64": "linux-arm64", "x86_64": "linux-x86_64"}


class RunnerParts:
    """The `DeviceParts` of the product."""

    @property
    def emulator_folder(self) -> Path:
        folder = cache_dir() / "emulator"
        # It is executed; one that is installed in the system is the system's to protect.
        check_private(cache_dir(), *((folder, *folder.iterdir()) if folder.is_dir() else ()))
        return folder

    def describe_host(self) -> DeviceInfo:
        cpu_model, clusters = read_cpu_model(), read_local_clusters()
        return DeviceInfo(
            name="this machine",
            system=f"{platform.system()} {platform.release()}",
            architecture=host_architecture(),
            cpu_model=cpu_model,
            cpu_count=count_usable_cores(),
            features=present_features(),
            sme_vector_bits=read_sme_vector_bits(),
            governor=read_governor(),
            clusters=clusters,
            sme_units=read_local_sme_units(cpu_model),
            performance_cores=count_performance_cores(clusters),
        )

    def find_host_runner(self, name: str, progress: Progress) -> HostRunner:
        if name not in RUNNERS:
            raise UsageError(f"There is no runner {name!r}.", hint=f"Known: {', '.join(RUNNERS)}.")
        require_supported(("executorch",), "Running a model here")
        if name == "python":
            return _python_runner("The Python runner was used, as requested.")
        try:
            with _one_builder():
                runner = ensure_runner(progress)
            files = RunnerFiles((runner.path,), installed_sdk().libraries)
            return HostRunner(runner.command, can_sample=True, files=files)
        except DependencyError as error:
            if name == "native":
                raise
            return _python_runner(f"The Python runner was used: {error.message}")

    def find_bundle(self, architecture: str, progress: Progress, archive: Path | None = None) -> Bundle:
        if architecture not in _TARGETS:
            raise DeviceError(
                f"There is no runner for a {architecture} device.", hint="Known: " + ", ".join(_TARGETS) + "."
            )
        if archive:
            version = installed_version("executorch") or TESTED["executorch"]
            # What follows the plus sign says which build of that version it is.
            return open_archive(archive, architecture, version.partition("+")[0], progress)
        with _one_builder():
            return ensure_bundle(*resolve_parts(_TARGETS[architecture], None, None, progress), progress=progress)

    def find_runtime_runner(self, runtime: str) -> HostRunner:
        name = RUNTIMES[runtime].runner
        module = import_module(f"etprof.runner.{name}")
        files = RunnerFiles(_python_files(module), tuple(module.list_libraries()))
        return HostRunner((sys.executable, "-c", _PYTHON_RUNNER.format(name)), can_sample=False, files=files)

    def named_runner_flags(self, runner: Path, job: Job) -> list[str]:
        named = identify_runner(runner)
        return runner_flags(job) if named.is_ours else build_stock_flags(named, job)

    def named_runner_architecture(self, runner: Path) -> str | None:
        return identify_runner(runner).architecture

    def read_features(self, architecture: str, cpuinfo: str, vector: Mapping[int, int]) -> tuple[str, ...]:
        if architecture == "arm64":
            return tuple(name for (entry, bit), name in ARM64_LINUX_HWCAPS.items() if vector.get(entry, 0) >> bit & 1)
        return tuple(name for name, present in parse_x86_flags(cpuinfo).items() if present)


@contextmanager
def _one_builder() -> Iterator[None]:
    """Of many runs that begin at once, as those of a fleet, the first builds the runner and the others find it."""
    if not cache_dir().is_dir():
        yield
        return
    # The folder itself: a cache that nothing can be written to is used as well.
    handle = os.open(cache_dir(), os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _python_runner(note: str) -> HostRunner:
    files = RunnerFiles(_python_files(python_runner), tuple(python_runner.list_libraries()))
    command = (sys.executable, "-c", _PYTHON_RUNNER.format("python_runner"))
    return HostRunner(command, can_sample=False, note=note, files=files, is_python=True)


def _python_files(runner: ModuleType) -> tuple[Path, ...]:
    return tuple(Path(str(module.__file__)) for module in (runner, block_runner, sequence, work))
