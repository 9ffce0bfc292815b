"""Building for another kind of machine: the targets, their compilers, and the ExecuTorch wheels for them."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from etprof.core.errors import DependencyError, UnknownNameError, UsageError
from etprof.runner.build import (
    Progress,
    Target,
    cache_dir,
    host_target,
    make_cache_folder,
    rename_unless_there,
)
from etprof.runner.private_folders import check_private, close_to_others
from etprof.runner.sdk import Sdk, installed_sdk, read_sdk
from etprof.runner.toolchain import Compiler, describe_compiler, read_toolchain_file, require_compiler

_LINUX_ARM64 = Target("linux", "arm64", ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"))
_ANDROID_ARM64 = Target("android", "arm64", ("-DANDROID_ABI=arm64-v8a", "-DANDROID_PLATFORM=android-28"))
# Where ExecuTorch's own script for Android installs to, in a checkout below the current folder.
_ANDROID_PREFIX = Path("executorch/cmake-out-android-arm64-v8a")
_NDK_TOOLCHAIN = Path("build/cmake/android.toolchain.cmake")
CROSS_COMPILER = "aarch64-linux-gnu-g++"
_WHEEL_PLATFORM = "manylinux_2_28_aarch64"
_WANTED_PARTS = ("executorch/include/", "executorch/lib/", "executorch/share/cmake/")
_FETCH_TIMEOUT_S = 900.0

TARGET_NAMES = ("host", "linux-arm64", "android-arm64")


def resolve_target(name: str) -> Target:
    host = host_target()
    if name in ("host", host.name):
        return host
    targets = {t.name: t for t in (_LINUX_ARM64, _ANDROID_ARM64)}
    if name not in targets:
        raise UnknownNameError("target", name, TARGET_NAMES, hint=f"Known: {', '.join(TARGET_NAMES)}.")
    return targets[name]


def resolve_parts(
    name: str, prefix: Path | None, toolchain_file: Path | None, progress: Progress
) -> tuple[Sdk, Compiler, Target]:
    """What a build for the named target is made of: an SDK, a compiler and the target itself."""
    target = resolve_target(name)
    compiler = _resolve_compiler(target, toolchain_file)
    if prefix:
        return read_sdk(prefix), compiler, target
    if target == _ANDROID_ARM64:
        return _find_android_sdk(), compiler, target
    installed = installed_sdk()
    return (installed if target == host_target() else _fetch_sdk(target, installed.version, progress)), compiler, target


def _resolve_compiler(target: Target, toolchain_file: Path | None) -> Compiler:
    """What compiles for this target: the toolchain file where one is given, else the usual compiler for it."""
    if toolchain_file:
        return read_toolchain_file(toolchain_file)
    if target == _ANDROID_ARM64:
        ndk = os.environ.get("ANDROID_NDK")
        if not ndk:
            raise UsageError(
                "Building for Android needs an NDK, and ANDROID_NDK is not set.",
                hint="Set ANDROID_NDK, or: etprof runner build --toolchain-file FILE. With --target linux-arm64 "
                "--bundle FILE it needs no NDK, and the bundle runs on Android.",
            )
        return read_toolchain_file(Path(ndk) / _NDK_TOOLCHAIN)
    if target == _LINUX_ARM64:
        found = shutil.which(CROSS_COMPILER)
        if not found:
            raise DependencyError(
                f"There is no {CROSS_COMPILER}.",
                hint="Debian and Ubuntu: apt-get install g++-aarch64-linux-gnu. Elsewhere use a bundle of a release "
                "or of another machine: etprof run --runner-bundle FILE",
            )
        return describe_compiler(found)
    return require_compiler()


def _find_android_sdk() -> Sdk:
    """There is no wheel for Android: the libraries are those of a build of one's own."""
    if not (_ANDROID_PREFIX / "include" / "executorch").is_dir():
        raise UsageError(
            f"ExecuTorch's libraries for Android were not found: there is no wheel, and no build in {_ANDROID_PREFIX}.",
            hint="None is needed: `etprof run --device android` brings a runner with its own C library. For a build of "
            "your own: etprof runner build --executorch-prefix DIR",
        )
    return read_sdk(_ANDROID_PREFIX)


def _fetch_sdk(target: Target, version: str, progress: Progress) -> Sdk:
    """The SDK of the wheel of this version for the target, downloaded once and kept."""
    folder = cache_dir() / "sdks" / f"{target.name}-{version}"
    make_cache_folder(folder.parent)
    if folder.exists():
        check_private(cache_dir(), folder)
    else:
        progress(f"downloading the executorch {version} wheel for {target.name}")
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
            unpacked = Path(scratch) / "unpacked"
            _unpack(_download_wheel(version, Path(scratch)), unpacked)
            close_to_others(unpacked)
            rename_unless_there(unpacked, folder)
    return read_sdk(folder / "executorch")


def _download_wheel(version: str, destination: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary=:all:", "--platform", _WHEEL_PLATFORM, "--dest", str(destination), f"executorch=={version}",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise DependencyError(f"Downloading the executorch wheel timed out after {_FETCH_TIMEOUT_S:.0f} s.") from error
    wheels = sorted(destination.glob("executorch-*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise DependencyError(
            f"The executorch {version} wheel for {_WHEEL_PLATFORM} cannot be downloaded: {reason}",
            hint="Check the network, or unpack that wheel yourself: etprof runner build --executorch-prefix DIR",
        )
    return wheels[0]


def _unpack(wheel: Path, destination: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(destination, [n for n in archive.namelist() if n.startswith(_WANTED_PARTS)])
