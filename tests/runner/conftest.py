"""The real runner, built once for all tests here, and real models for it to run."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from etprof.runner.build import NativeRunner, cache_dir, ensure_runner
from etprof.runner.toolchain import compiler_path
from parts import need

# Looked up now, before tests move the cache.
_KEPT_EMULATOR = cache_dir() / "emulator" / "qemu-aarch64"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the tests' own, so that everything they use is built by them."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETPROF_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def runner(cache: Path) -> NativeRunner:
    need(compiler_path(), "there is no C++ compiler")
    assert cache_dir() == cache
    return ensure_runner()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fp32.pte, fp16.pte, int8.pte, pair.pte and channels_last.pte, each with its inputs and its eager outputs."""
    folder = tmp_path_factory.mktemp("models")
    # A process of its own: the export stack warns about itself, and here warnings are errors.
    program = Path(__file__).with_name("export_models.py")
    done = subprocess.run([sys.executable, str(program), str(folder)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def emulator() -> str:
    """A QEMU that emulates SME2, from PATH or from where scripts/get_emulator puts it."""
    found = shutil.which("qemu-aarch64") or (str(_KEPT_EMULATOR) if _KEPT_EMULATOR.exists() else None)
    need(found, "there is no qemu-aarch64; scripts/get_emulator brings it")
    assert found
    version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30).stdout
    major, minor = version.split("version ")[1].split(".")[:2]
    need((int(major), int(minor)) >= (10, 1), f"QEMU {major}.{minor} does not emulate SME2")
    return found
