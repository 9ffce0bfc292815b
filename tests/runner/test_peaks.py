"""The loops of the runner compute what they say, under emulation too, and are timed where times mean something."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from etprof.core.peaks import ACCESSES, CLOCK, list_loops
from etprof.runner import python_runner
from etprof.runner.build import NativeRunner
from etprof.runner.bundle import Bundle
from etprof.runner.cpu_features import host_architecture, present_features

pytestmark = pytest.mark.alone

ITERATIONS, ACCUMULATORS = 100, 24
# Products that one instruction adds to each 32-bit number of a tile.
GROUPS = {"sme_fp32": 1, "sme_fp16": 2, "sme_bf16": 2, "sme_int8": 4}
ARM = ["neon_fp32", "neon_fp16", "neon_bf16", "neon_int8", "sdot_int8", "smmla_int8", "sve_fp32", *GROUPS]


def ask(*command: str, expect: int = 0) -> Any:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


def test_every_loop_of_this_cpu_executes_as_many_multiply_adds_as_it_says(runner: NativeRunner) -> None:
    said = ask(*runner.command, "--peaks", "0")
    expected = [loop.name for loop in list_loops(host_architecture(), present_features())]
    assert [each["name"] for each in said["checked"]] == expected
    assert all(each["sum"] == each["macs"] > 0 for each in said["checked"])
    assert said["measured"] == []


def test_every_loop_and_level_is_timed_at_each_thread_count(runner: NativeRunner, tmp_path: Path) -> None:
    result = tmp_path / "peaks.json"
    ask(*runner.command, "--peaks", "2", "--cpu_threads", "2", "--result_path", str(result))
    said = json.loads(result.read_text())
    loops = {(each["loop"], each["threads"]) for each in said["measured"] if "loop" in each}
    names = [each["name"] for each in said["checked"]]
    assert loops == {(CLOCK, 1), *((name, threads) for name in names for threads in (1, 2))}
    levels = {(each["level"], each["access"], each["threads"]) for each in said["measured"] if "level" in each}
    assert {
        (level, access, threads) for level in ("L1", "L2", "memory") for access in ACCESSES for threads in (1, 2)
    } <= levels
    assert all(len(each["rates"]) == 2 and min(each["rates"]) > 0 for each in said["measured"])


@pytest.mark.parametrize("vector_bytes", [16, 64])
def test_the_loops_of_an_arm_cpu_are_right_at_any_vector_length(
    vector_bytes: int, arm_bundle: Bundle, emulator: str
) -> None:
    """The sum of a tile is the number of its products: a wrong word, or one too few, would show."""
    command = arm_bundle.command(str(arm_bundle.folder))
    said = ask(emulator, "-cpu", f"max,sme-default-vector-length={vector_bytes}", *command, "--peaks", "0")
    checked = {each["name"]: each for each in said["checked"]}
    assert list(checked) == ARM
    for each in checked.values():
        assert (each["sum"], each["instructions"]) == (each["macs"], ITERATIONS * ACCUMULATORS)
    for name, group in GROUPS.items():
        assert checked[name]["macs"] == ITERATIONS * ACCUMULATORS * group * (vector_bytes // 4) ** 2
    assert said["measured"] == []


def test_an_arm_cpu_without_extensions_has_the_loops_of_its_baseline(arm_bundle: Bundle, emulator: str) -> None:
    command = arm_bundle.command(str(arm_bundle.folder))
    said = ask(emulator, "-cpu", "cortex-a53", *command, "--peaks", "0")
    assert [each["name"] for each in said["checked"]] == ["neon_fp32", "neon_int8"]


@pytest.mark.parametrize("passes", ["-1", "1001", "many"])
def test_a_number_of_passes_that_cannot_be_is_refused(passes: str, runner: NativeRunner) -> None:
    assert "--peaks takes a whole number from 0 to 1000" in ask(*runner.command, "--peaks", passes, expect=2)


def test_the_python_runner_says_that_it_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        python_runner.main(["--peaks", "20", "--result_path", "x.json"])
    assert "the Python runner cannot measure what a CPU can do" in capsys.readouterr().err
