"""`etprof runner`: building and telling what is built, in a cache of the test's own."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from etprof.cli.main import main
from etprof.runner.build import cache_dir, find_runner
from etprof.runner.toolchain import compiler_path
from parts import need

_ROOT = Path(__file__).parents[2]
_SCRIPTS = _ROOT / "model_profiling" / "scripts"
_GET_EMULATOR = _ROOT / "scripts" / "get_emulator"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    need(compiler_path(), "there is no C++ compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETPROF_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def test_info_then_build_then_info(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["runner", "info"]) == 0
    assert "not built: `etprof runner build` builds it" in capfd.readouterr().out
    assert main(["runner", "build"]) == 0
    said = capfd.readouterr()
    runner = find_runner()
    assert runner is not None
    assert str(runner.path) in said.out
    assert "building the native runner" in said.err
    assert main(["runner", "info"]) == 0
    said = capfd.readouterr()
    assert f"current: {runner.path}" in said.out
    assert str(cache_dir()) in said.out


def test_info_without_a_compiler_says_which_runner_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert main(["runner", "info"]) == 0
    assert "not built: there is no C++ compiler, so the Python runner is used" in capfd.readouterr().out


@pytest.mark.exhaustive
def test_a_bundle_is_written_where_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "new folder" / "runner.tar.gz"
    assert main(["runner", "build", "--bundle", str(archive)]) == 0
    assert str(archive) in capfd.readouterr().out
    with tarfile.open(archive) as packed:
        assert "etprof-runner/run" in packed.getnames()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--target", "amiga"], 2, "There is no target called 'amiga'"),
        (["--executorch-prefix", "/"], 1, "is not an ExecuTorch install prefix"),
        (["--toolchain-file", "/no/such.cmake"], 2, "There is no CMake toolchain file /no/such.cmake"),
        (
            ["--bundle", "a.tar.gz", "--executor-scripts", "b"],
            2,
            "--bundle and --executor-scripts are mutually exclusive.",
        ),
        (["--bundle", "/dev/null/a.tar.gz"], 1, "The bundle cannot be written to /dev/null/a.tar.gz"),
        (["--executor-scripts", "/dev/null"], 1, "cannot be written: Not a directory"),
    ],
)
def test_a_build_that_cannot_be_is_one_sentence(
    arguments: list[str], code: int, sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["runner", "build", *arguments]) == code
    said = capfd.readouterr().err
    assert said.startswith("error: ")
    assert sentence in said


def test_a_cache_that_cannot_be_made_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ETPROF_CACHE", "/dev/null/cache")
    assert main(["runner", "build"]) == 1
    assert "hint: Set ETPROF_CACHE" in capfd.readouterr().err


def test_the_documented_script_writes_the_documented_paths(tmp_path: Path) -> None:
    script = str(_SCRIPTS / "build_runners.sh")
    line = ["bash", script, "--executor-scripts", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    scripts = {str(path) for path in tmp_path.glob("*/executor_runner")}
    assert scripts == set(done.stdout.splitlines()[2:])
    assert len(scripts) == 2


def test_the_documented_script_without_a_venv_names_the_step_before(tmp_path: Path) -> None:
    elsewhere = tmp_path / "model_profiling" / "scripts"
    elsewhere.mkdir(parents=True)
    script = shutil.copy(_SCRIPTS / "build_runners.sh", elsewhere)
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "hint: bash model_profiling/scripts/setup_repo.sh" in done.stderr


def test_the_documented_setup_installs_and_then_examines(tmp_path: Path) -> None:
    scripts = tmp_path / "model_profiling" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(_SCRIPTS / "setup_repo.sh", scripts)
    (tmp_path / "scripts").mkdir()
    install = tmp_path / "scripts" / "install"
    install.write_text('#!/bin/sh\nmkdir -p "$1/bin"\nln -s /bin/echo "$1/bin/etprof"\n', encoding="utf-8")
    install.chmod(0o755)
    done = subprocess.run(["bash", scripts / "setup_repo.sh"], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "doctor\n")


def test_an_emulator_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    there = tmp_path / "qemu-aarch64"
    there.touch(mode=0o755)
    need(shutil.which("apt-get"), "scripts/get_emulator is for Debian")
    done = subprocess.run([_GET_EMULATOR, tmp_path], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, f"{there}\n")


def test_getting_an_emulator_elsewhere_than_on_debian_says_what_to_do(tmp_path: Path) -> None:
    command = ["/bin/bash", str(_GET_EMULATOR), str(tmp_path / "emulator")]
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "error: This is not a Debian system." in done.stderr
    assert "hint: Install QEMU 10.1 or newer" in done.stderr
