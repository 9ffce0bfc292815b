"""What this machine has for profiling, as a list of checks; only a few of them are needed for the main job."""

import importlib.metadata
import os
import re
import shutil
import sys
from dataclasses import dataclass
from enum import Enum

from etprof.core.errors import DependencyError
from etprof.devices.emulator import find_emulator
from etprof.runner.build import cache_dir, find_runner
from etprof.runner.cpu_features import host_architecture, present_features, read_cpu_model, read_sme_vector_bits
from etprof.runner.cpu_state import read_governor
from etprof.runner.toolchain import cmake_path, compiler_path

_STEADY_GOVERNORS = ("performance", "schedutil")
# What a reader calls a feature, and cpuinfo's name of it.
_FEATURES = {
    "arm64": {"SME": "sme", "SME2": "sme2", "SVE": "sve", "i8mm": "i8mm", "dot product": "dot", "fp16": "fp16arith"},
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
        *(_check_package(name) for name in ("torch", "executorch", "torchao")),
        *_check_build_tools(),
        *_check_cpu(),
        _check_governor(),
        _check_program("adb", "Android devices", "Install platform-tools (Debian: apt-get install adb)."),
        _check_program("ssh", "Arm Linux devices", "Install the OpenSSH client."),
        _check_emulator(),
    ]


def can_run(checks: list[Check]) -> bool:
    return all(check.status is not Status.MISSING for check in checks if check.required)


def _check_python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    good = sys.version_info >= (3, 10)
    return Check("Python", Status.OK if good else Status.MISSING, version, "" if good else "3.10 or newer.", True)


def pinned_version(package: str) -> str:
    """The version pyproject.toml asks for, from our own metadata."""
    for line in importlib.metadata.requires("etprof") or ():
        match = re.match(rf"{re.escape(package)}==([\w.]+)", line)
        if match:
            return match.group(1)
    return ""


def _check_package(name: str) -> Check:
    wanted = pinned_version(name)
    advice = f"Install it: pip install {name}=={wanted}"
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, Status.MISSING, "not installed", advice, True)
    if found.partition("+")[0] != wanted:
        return Check(name, Status.MISSING, f"{found}, but {wanted} is needed", advice, True)
    return Check(name, Status.OK, found, required=True)


def _check_build_tools() -> list[Check]:
    compiler, cmake, runner = compiler_path(), cmake_path(), find_runner()
    without = "Without it the Python runner is used."
    return [
        Check(
            "C++ compiler", Status.OK if compiler else Status.WARNING, compiler or "none", "" if compiler else without
        ),
        Check("CMake", Status.OK if cmake else Status.WARNING, "found" if cmake else "none", "" if cmake else without),
        Check("native runner", Status.OK, runner.description)
        if runner
        else Check("native runner", Status.INFO, "not built yet", "Built on first use, or by `etprof runner build`."),
    ]


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
    return [*checks, Check("threads", Status.INFO, str(os.cpu_count() or 1))]


def _check_governor() -> Check:
    governor = read_governor()
    if not governor:
        return Check("frequency governor", Status.INFO, "not told by this system")
    if governor in _STEADY_GOVERNORS:
        return Check("frequency governor", Status.OK, governor)
    return Check("frequency governor", Status.WARNING, governor, "It may disturb a measurement; set `performance`.")


def _check_program(name: str, purpose: str, advice: str) -> Check:
    if shutil.which(name) is None:
        return Check(name, Status.INFO, "not found", f"Needed for {purpose} only. {advice}")
    return Check(name, Status.OK, "found")


def _check_emulator() -> Check:
    advice = "Needed for SME2 on other CPUs only. `scripts/get_emulator` brings one on Debian."
    try:
        emulator = find_emulator(cache_dir() / "emulator")
    except DependencyError as error:
        return Check("emulator", Status.INFO, error.message.rstrip("."), advice)
    return Check("emulator", Status.OK, f"{emulator.description} in {emulator.path}")
