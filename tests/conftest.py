"""Parts that many tests share: models that are exported once a session, and the command line."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.devices.turns import VARIABLE
from parts import need
from shared_exports import SharedExports, session_exports

ROOT = Path(__file__).parents[1]
# Their tests begin first, so that the others run beside them and not before.
_LONGEST = ("test_arm64.py", "test_soak.py", "test_models.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is exhaustive unless everything is asked for. What takes longest comes first."""
    items.sort(key=lambda item: _LONGEST.index(item.path.name) if item.path.name in _LONGEST else len(_LONGEST))
    if os.environ.get("ETPROF_REQUIRE_ALL") == "1":
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A job in a shell's background ignores Ctrl-C, and so does all it starts; tests that interrupt must be heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # Under nohup the tests go on, and what they start hears it: a handler is not inherited.
        signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def turns_are_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests wait neither for each other's runs nor for those that happen on this machine."""
    file = tmp_path_factory.mktemp("turns") / "lock"
    file.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(file))
        yield


@pytest.fixture(scope="session")
def libraries() -> None:
    """torch and executorch, imported once: what they warn about on the way is not ours."""
    need(find_spec("torch") and find_spec("executorch") and find_spec("torchao"), "torch or executorch is missing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # hypothesis looks for the referrers of an object when it is first imported, and would not find frozen ones.
        for name in ("hypothesis", "torch", "executorch.exir", "torchao"):
            import_module(name)
    # A million objects that stay: exports make many more, and the collector need not go through these each time.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory, libraries: None) -> SharedExports:
    """Exports a model; the same request gives the same artifact in every worker. Copy what you change."""
    return session_exports(tmp_path_factory)


@pytest.fixture(scope="session")
def toy_cnn(exported: SharedExports, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with toy_cnn_xnnpack_fp32.pte and its side files, one for each worker. Copy what you change."""
    folder = tmp_path_factory.mktemp("toy_cnn") / "artifacts"
    # Other tests convert the same export for ONNX Runtime, earlier or later.
    shutil.copytree(exported("toy_cnn").pte.parent, folder, ignore=shutil.ignore_patterns("*.onnx*"))
    return folder


def run_etprof(*arguments: str, expect: int = 0, timeout: float = 300) -> str:
    """Runs the command line in a process of its own, from the repository's root; returns what it printed."""
    environment = {**os.environ, "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-m", "etprof", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=timeout,
    )  # fmt: skip
    assert done.returncode == expect, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr
