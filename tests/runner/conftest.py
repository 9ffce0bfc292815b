"""The real runner, built once for all tests here, and real models for it to run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from etprof.runner.build import NativeRunner, ensure_runner
from etprof.runner.bundle import Bundle, ensure_bundle
from etprof.runner.cross import resolve_parts
from etprof.runner.toolchain import compiler_path
from parts import need
from real_devices import emulator

__all__ = ["emulator"]

# A folder with models, on a machine that cannot export them.
EXPORTED_ELSEWHERE = os.environ.get("ETPROF_TEST_MODELS")
# Those of the tests that are not exhaustive.
QUICK_MODELS = ("dominated", "kinds_fp32", "kinds_fp16", "kinds_int8", "products_int4")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the tests' own, so that everything they use is built by them; it is in force for `own_cache` only."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETPROF_CACHE", str(cache))
    return cache


@pytest.fixture(scope="session")
def runner(cache: Path) -> NativeRunner:
    need(compiler_path(), "there is no C++ compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETPROF_CACHE", str(cache))
        return ensure_runner()


@pytest.fixture(scope="session")
def arm_bundle(cache: Path, emulator: str) -> Bundle:
    """The runner for aarch64, on a machine that can build and emulate it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETPROF_CACHE", str(cache))
        return ensure_bundle(*resolve_parts("linux-arm64", None, None, lambda _: None))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fp32.pte, fp16.pte, int8.pte, pair.pte and channels_last.pte, each with its inputs and its eager outputs."""
    if EXPORTED_ELSEWHERE:
        return Path(EXPORTED_ELSEWHERE)
    folder = tmp_path_factory.mktemp("models")
    _export("export_models.py", folder)
    return folder


@pytest.fixture(scope="session")
def odd_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of export_odd_models.py, each with an input of one row."""
    folder = tmp_path_factory.mktemp("odd_models")
    _export("export_odd_models.py", folder)
    return folder


@pytest.fixture(scope="session")
def stateful_models(odd_models: Path) -> Path:
    """Models that keep state, exported by the same process."""
    return odd_models / "stateful"


@pytest.fixture(scope="session")
def kernel_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of export_kernel_models.py that this session needs, each with its input."""
    if EXPORTED_ELSEWHERE:
        return Path(EXPORTED_ELSEWHERE)
    folder = tmp_path_factory.mktemp("kernel_models")
    _export("export_kernel_models.py", folder, *(() if os.environ.get("ETPROF_REQUIRE_ALL") == "1" else QUICK_MODELS))
    return folder


def _export(program: str, folder: Path, *names: str) -> None:
    # A process of its own: the export stack warns about itself, and here warnings are errors.
    command = [sys.executable, str(Path(__file__).with_name(program)), str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
