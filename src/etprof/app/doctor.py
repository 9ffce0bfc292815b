"""What this machine has for profiling, as a list of checks; exporting and running need only a few of them."""

import platform
import shutil
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from etprof.app.device_parts import RunnerParts
from etprof.app.named_model import describe_export
from etprof.app.peaks import find_peaks
from etprof.core.errors import DependencyError, RunnerError
from etprof.core.layout import etrecord_path, graph_path
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.devices.emulator import find_emulator
from etprof.devices.usable_cores import count_usable_cores
from etprof.export.dependencies import (
    RUNTIME,
    TESTED,
    install_command,
    installed_version,
    is_supported,
    supported_versions,
)
from etprof.reports.peaks_tables import summarize_peaks
from etprof.runner.build import cache_dir, find_runner
from etprof.runner.cpu_features import host_architecture, present_features, read_cpu_model, read_sme_vector_bits
from etprof.runner.cpu_state import read_governor
from etprof.runner.toolchain import (
    CMAKE_ADVICE,
    LOWEST_CMAKE,
    cmake_path,
    compiler_advice,
    compiler_path,
    describe_compiler,
    is_cmake_too_old,
    ninja_path,
    read_cmake_version,
)

# Where executorch can be installed from a wheel.
_WHEELS = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64")}
_STEADY_GOVERNORS = ("performance", "schedutil")
# What a reader calls a feature, and cpuinfo's name of it.
_FEATURES = {
    "arm64": {
        "SME": "sme",
        "SME2": "sme2",
        "SVE": "sve",
        "i8mm": "i8mm",
        "dot product": "dot",
        "bf16": "bf16",
        "fp16": "fp16arith",
    },
    "x86_64": {"AVX2": "avx2", "AVX-512": "avx512f", "AVX-512 VNNI": "avx512vnni", "AMX": "amx_tile"},
}


class Status(Enum):
    OK = "ok"
    MISSING = "missing"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Check:
    """One line: what was looked at, what was found, and what to do where that is not enough."""

    name: str
    status: Status
    found: str
    advice: str = ""
    required: bool = False


def run_checks() -> list[Check]:
    return [
        _check_python(),
        *(_check_package(name) for name in RUNTIME),
        *_check_build_tools(),
        *_check_cpu(),
        _check_governor(),
        _check_peaks(),
        _check_program("adb", "Android devices", "Install platform-tools (Debian: apt-get install adb)."),
        _check_program("ssh", "Arm Linux devices", "Install the OpenSSH client."),
        _check_emulator(),
        *(_check_runtime(name) for name in RUNTIMES if name != EXECUTORCH),
    ]


def check_model(model: Path) -> list[Check]:
    """Whether an exported model is there, and what its export writes beside it."""
    if not model.is_file():
        return [Check("model", Status.MISSING, f"there is no {model}", describe_export(model), True)]
    beside = {"ETRecord": etrecord_path(model), "graph": graph_path(model)}
    advice = "Reports name no modules without the graph; the ETRecord is for ExecuTorch's own tools. Export it again."
    return [
        Check("model", Status.OK, str(model), required=True),
        *(
            Check(name, Status.OK, str(path)) if path.is_file() else Check(name, Status.WARNING, "none", advice)
            for name, path in beside.items()
        ),
    ]


def can_run(checks: list[Check]) -> bool:
    return all(check.status is not Status.MISSING for check in checks if check.required)


def _check_python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    good = sys.version_info >= (3, 11)
    return Check("Python", Status.OK if good else Status.MISSING, version, "" if good else "Use 3.11 or newer.", True)


def _check_package(name: str) -> Check:
    found = installed_version(name)
    if found is None:
        return Check(name, Status.MISSING, "not installed", _install_advice(name), True)
    if not is_supported(name, found):
        wanted = supported_versions()[name]
        return Check(name, Status.MISSING, f"{found}, but {wanted} is needed", _install_advice(name), True)
    is_tested = found.partition("+")[0] == TESTED[name]
    return Check(name, Status.OK, found if is_tested else f"{found} (tested: {TESTED[name]})", required=True)


def _install_advice(name: str) -> str:
    system, machine = platform.system(), platform.machine()
    if (system, machine) not in _WHEELS:
        return f"executorch has no wheel for {system} {machine}; use Linux or a Mac with Apple silicon."
    command = install_command([name])
    if name != "torch":
        return f"Run: {command}"
    note = (
        " (for Linux the default build includes CUDA, several GB; the CPU build is enough)" if system == "Linux" else ""
    )
    return f"First and by itself{note}, run: {command}"


def _check_build_tools() -> list[Check]:
    return [
        _check_compiler(compiler_path()),
        _check_cmake(cmake_path()),
        Check("Ninja", Status.OK, "found") if ninja_path() else Check("Ninja", Status.WARNING, "none", CMAKE_ADVICE),
        _check_runner(),
    ]


def _check_compiler(path: str | None) -> Check:
    if not path:
        return Check("C++ compiler", Status.WARNING, "none", compiler_advice())
    try:
        describe_compiler(path)
    except DependencyError as error:
        return Check("C++ compiler", Status.WARNING, error.message, error.hint)
    return Check("C++ compiler", Status.OK, path)


def _check_runner() -> Check:
    try:
        runner = find_runner()
    except RunnerError as error:
        return Check("native runner", Status.WARNING, error.message, error.hint)
    if runner:
        return Check("native runner", Status.OK, runner.description)
    return Check("native runner", Status.INFO, "not built yet", "Built on first use, or by `etprof runner build`.")


def _check_cmake(path: str | None) -> Check:
    if not path:
        return Check("CMake", Status.WARNING, "none", CMAKE_ADVICE)
    version = read_cmake_version(path)
    if is_cmake_too_old(version):
        return Check("CMake", Status.WARNING, f"{version}, but {LOWEST_CMAKE} or newer is needed", CMAKE_ADVICE)
    return Check("CMake", Status.OK, version)


def _check_cpu() -> list[Check]:
    present = present_features()
    named = _FEATURES.get(host_architecture(), {})
    checks = [Check("CPU", Status.INFO, f"{read_cpu_model()} ({host_architecture()})")]
    checks += [
        Check(f"CPU feature {label}", Status.OK if name in present else Status.INFO, "yes" if name in present else "no")
        for label, name in named.items()
    ]
    bits = read_sme_vector_bits()
    if bits:
        checks.append(Check("SME vector length", Status.INFO, f"{bits} bits"))
    return [*checks, Check("threads", Status.INFO, str(count_usable_cores()))]


def _check_governor() -> Check:
    governor = read_governor()
    if not governor:
        return Check("frequency governor", Status.INFO, "not reported by this system")
    if governor in _STEADY_GOVERNORS:
        return Check("frequency governor", Status.OK, governor)
    return Check("frequency governor", Status.WARNING, governor, "It may disturb measurements; set `performance`.")


def _check_peaks() -> Check:
    peaks = find_peaks(RunnerParts().describe_host())
    if peaks is None:
        return Check("CPU peaks", Status.INFO, "not measured yet", "`etprof devices peaks` measures them in 10 s.")
    return Check("CPU peaks", Status.INFO, summarize_peaks(peaks))


def _check_program(name: str, purpose: str, advice: str) -> Check:
    if shutil.which(name) is None:
        return Check(name, Status.INFO, "not found", f"Needed for {purpose} only. {advice}")
    return Check(name, Status.OK, "found")


def _check_runtime(runtime: str) -> Check:
    """A runtime beside ExecuTorch, which is there when all of its packages are."""
    row = RUNTIMES[runtime]
    found = {name: installed_version(name) for name in row.packages}
    wrong = [name for name, version in found.items() if version is None or not is_supported(name, version)]
    if wrong:
        advice = f"Needed to compare with {row.title} only. Run: {install_command(wrong)}"
        states = (f"{name} {found[name]}" if found[name] else f"no {name}" for name in wrong)
        return Check(row.title, Status.INFO, ", ".join(states), advice)
    return Check(row.title, Status.OK, ", ".join(f"{name} {version}" for name, version in found.items()))


def _check_emulator() -> Check:
    advice = "Needed for SME2 on other CPUs only. `scripts/get_emulator` installs one on Debian."
    try:
        emulator = find_emulator(cache_dir() / "emulator")
    except DependencyError as error:
        return Check("emulator", Status.INFO, error.message.rstrip("."), advice)
    return Check("emulator", Status.OK, f"{emulator.description} in {emulator.path}")
