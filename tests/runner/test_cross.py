"""Building for another machine: targets, toolchain files, and the wheel that is downloaded for it."""

import shutil
from pathlib import Path

import pytest

from etprof.core.errors import DependencyError, UnknownNameError, UsageError
from etprof.runner import cross
from etprof.runner.build import build_runner, host_target
from etprof.runner.cross import CROSS_COMPILER, resolve_parts, resolve_target
from etprof.runner.sdk import installed_sdk
from etprof.runner.stock import identify_runner
from parts import need
from runner_block import run_block

_SYSROOT = Path("/usr/aarch64-linux-gnu")


def ignore(_: str) -> None:
    pass


def test_the_host_is_itself_by_either_name() -> None:
    assert resolve_target("host") == resolve_target(host_target().name) == host_target()


def test_an_unknown_target_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        resolve_target("linux-arm65")
    assert "linux-arm64" in caught.value.hint


@pytest.mark.exhaustive
@pytest.mark.usefixtures("own_cache")
def test_a_toolchain_file_and_a_prefix_build_for_another_machine(
    emulator: str, models: Path, tmp_path: Path, cache: Path
) -> None:
    need(shutil.which(CROSS_COMPILER), f"there is no {CROSS_COMPILER}")
    need(_SYSROOT.is_dir(), "there is no C library for aarch64")
    fetched, _, _ = resolve_parts("linux-arm64", None, None, ignore)
    assert cache in fetched.prefix.parents
    toolchain = tmp_path / "arm64.cmake"
    toolchain.write_text(
        "set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
        f"set(CMAKE_CXX_COMPILER {CROSS_COMPILER})\n",
        encoding="utf-8",
    )
    runner = build_runner(*resolve_parts("linux-arm64", fetched.prefix, toolchain, ignore))
    assert runner.compiler.startswith("toolchain file arm64.cmake")
    command = (emulator, "-cpu", "max", "-L", str(_SYSROOT), *runner.command)
    assert run_block(command, models / "fp32.pte", tmp_path / "block").result["error"] == ""


@pytest.mark.usefixtures("own_cache")
def test_the_wheel_of_the_installed_version_is_downloaded_once(cache: Path) -> None:
    need(shutil.which(CROSS_COMPILER), f"there is no {CROSS_COMPILER}")
    need(host_target().name != "linux-arm64", "this machine needs no other wheel")
    resolve_parts("linux-arm64", None, None, ignore)
    said: list[str] = []
    sdk, _, _ = resolve_parts("linux-arm64", None, None, said.append)
    assert (said, sdk.version) == ([], installed_sdk().version)
    assert list((cache / "sdks").glob("fetching-*")) == []


@pytest.mark.usefixtures("own_cache")
def test_a_wheel_that_is_not_available_leaves_nothing(cache: Path) -> None:
    need(host_target().name != "linux-arm64", "this machine needs no other wheel")
    with pytest.raises(DependencyError, match=r"executorch 0\.0\.1 wheel .* cannot be downloaded") as caught:
        cross._fetch_sdk(resolve_target("linux-arm64"), "0.0.1", ignore)
    assert "--executorch-prefix" in caught.value.hint
    assert not (cache / "sdks" / "linux-arm64-0.0.1").exists()
    assert list((cache / "sdks").glob("fetching-*")) == []


def test_android_without_an_ndk_points_to_the_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANDROID_NDK", raising=False)
    with pytest.raises(UsageError, match="ANDROID_NDK is not set") as caught:
        resolve_parts("android-arm64", None, None, ignore)
    assert "--target linux-arm64 --bundle" in caught.value.hint


def test_an_ndk_without_its_toolchain_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_NDK", str(tmp_path))
    with pytest.raises(UsageError, match=r"android\.toolchain\.cmake"):
        resolve_parts("android-arm64", None, None, ignore)


def test_android_has_no_wheel_and_says_what_to_name_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = tmp_path / "build" / "cmake" / "android.toolchain.cmake"
    toolchain.parent.mkdir(parents=True)
    toolchain.touch()
    monkeypatch.setenv("ANDROID_NDK", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match="libraries for Android were not found: there is no wheel, and no build"
    ) as caught:
        resolve_parts("android-arm64", None, None, ignore)
    assert "--executorch-prefix" in caught.value.hint
    assert "`etprof run --device android` brings a runner with its own C library" in caught.value.hint


@pytest.mark.exhaustive
@pytest.mark.usefixtures("own_cache", "emulator")
def test_with_an_ndk_and_the_libraries_in_their_place_android_needs_no_further_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The toolchain file stands in for the NDK's, the libraries for those of a build for Android.
    fetched, _, _ = resolve_parts("linux-arm64", None, None, ignore)
    toolchain = tmp_path / "build" / "cmake" / "android.toolchain.cmake"
    toolchain.parent.mkdir(parents=True)
    toolchain.write_text(
        # As the NDK's does: what CMake tries out compiles with the same ABI.
        "set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_ABI)\n"
        "if(NOT ANDROID_ABI STREQUAL arm64-v8a)\n  message(FATAL_ERROR no)\nendif()\nset(CMAKE_SYSTEM_NAME Linux)\n"
        f"set(CMAKE_SYSTEM_PROCESSOR aarch64)\nset(CMAKE_CXX_COMPILER {CROSS_COMPILER})\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("ANDROID_NDK", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "executorch").mkdir()
    (tmp_path / "executorch" / "cmake-out-android-arm64-v8a").symlink_to(fetched.prefix)
    runner = build_runner(*resolve_parts("android-arm64", None, None, ignore))
    assert (runner.target, runner.executorch_version) == ("android-arm64", fetched.version)
    assert runner.compiler.startswith("toolchain file android.toolchain.cmake")
    assert identify_runner(runner.path).architecture == "arm64"


def test_without_a_cross_compiler_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(host_target().name != "linux-arm64", "this machine needs no cross compiler")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError) as caught:
        resolve_parts("linux-arm64", None, None, ignore)
    assert "g++-aarch64-linux-gnu" in caught.value.hint
