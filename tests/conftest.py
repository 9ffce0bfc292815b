"""Parts that many tests share: the toy model, exported once by the real exporter."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from parts import need

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A job in a shell's background ignores Ctrl-C, and so does all it starts; tests that interrupt must be heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def toy_cnn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with toy_cnn_xnnpack_fp32.pte and its side files. Copy what you change."""
    need(find_spec("torch") and find_spec("executorch"), "torch and executorch are not installed")
    folder = tmp_path_factory.mktemp("toy_cnn") / "artifacts"
    run_etprof("export", "toy_cnn", "--outdir", str(folder))
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
