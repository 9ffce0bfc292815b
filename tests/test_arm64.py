"""The portable tests pass on an arm64 Debian: with SME2, without, and without i8mm; the runner is built there."""

import subprocess
from pathlib import Path

import pytest

from foreign_roots import find_root
from parts import need

ROOT = Path(__file__).parents[1]


@pytest.mark.exhaustive
def test_portable_tests_pass_on_an_emulated_arm64_debian() -> None:
    find_root("arm64")
    need((ROOT / ".venv" / "bin" / "python").exists(), "there is no .venv; make test makes it")
    done = subprocess.run([ROOT / "scripts" / "test_arm64"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout
