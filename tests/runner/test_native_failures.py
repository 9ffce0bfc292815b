"""Whatever goes wrong, the native runner says so in a sentence, with an exit code of its own, and leaves its result."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from etprof.runner.build import NativeRunner
from runner_block import run_block

# They run and time the native runner, which is built in a cache of the tests' own.

USAGE, HIDING, MODEL_UNREADABLE, MODEL_INVALID, INPUTS, EXECUTION, NOT_WRITTEN, CRASHED = 2, 3, 5, 6, 7, 8, 9, 70


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "Name the model with --model_path"),
        (("--kernel_smaples", "x"), "There is no flag --kernel_smaples"),
        (("forward",), "'forward' is not a flag"),
        (("--model_path",), "--model_path needs a value (FILE)"),
        (("--model_path", "m.pte", "--num_executions", "-3"), "takes a whole number from 0"),
        (("--model_path", "m.pte", "--num_executions", "ten"), "takes a whole number from 0"),
        (("--model_path", "m.pte", "--cpu_threads", "0"), "--cpu_threads takes 1 or more"),
        (("--model_path", "m.pte", "--cpu_threads", "99999"), "takes a whole number from -1 to 1024"),
        (("--model_path", "m.pte", "--traced_executions", "3"), "needs --etdump_path"),
    ],
)
def test_wrong_usage_is_exit_code_2(runner: NativeRunner, flags: tuple[str, ...], sentence: str) -> None:
    done = subprocess.run([*runner.command, *flags], capture_output=True, text=True, timeout=30)
    assert done.returncode == USAGE
    assert done.stderr.startswith("error: ")
    assert sentence in done.stderr


def test_a_missing_model_is_named(runner: NativeRunner, tmp_path: Path) -> None:
    block = run_block(runner.command, tmp_path / "nowhere.pte", tmp_path)
    assert block.exit_code == MODEL_UNREADABLE
    assert "nowhere.pte: No such file or directory" in block.result["error"]
    assert block.result["error"] in block.stderr


def test_a_folder_is_not_a_model(runner: NativeRunner, tmp_path: Path) -> None:
    block = run_block(runner.command, tmp_path, tmp_path / "block")
    assert (block.exit_code, "it is not a file" in block.stderr) == (MODEL_UNREADABLE, True)


def test_something_else_than_a_program_is_refused(runner: NativeRunner, tmp_path: Path) -> None:
    model = tmp_path / "picture.pte"
    model.write_bytes(b"\x89PNG" + bytes(5000))
    block = run_block(runner.command, model, tmp_path / "block")
    assert block.exit_code == MODEL_INVALID
    assert "ExecuTorch cannot load" in block.result["error"]


def test_an_unknown_method_is_named_beside_the_known_ones(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--method_name", "backward")
    assert block.exit_code == MODEL_INVALID
    assert "has no method 'backward', only: forward" in block.result["error"]


def test_damaged_models_never_crash_the_runner(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    whole = (models / "fp32.pte").read_bytes()
    chance = random.Random(4)
    model = tmp_path / "damaged.pte"
    codes = []
    for number in range(60):
        damaged = bytearray(whole)
        if number % 3 == 0:
            del damaged[chance.randrange(len(damaged)) :]
        else:
            for _ in range(20):
                damaged[chance.randrange(min(len(damaged), 8192))] = chance.randrange(256)
        model.write_bytes(damaged)
        block = run_block(runner.command, model, tmp_path / f"block{number}", "--inputs", "")
        codes.append(block.exit_code)
        assert (block.exit_code == 0) == (block.result["error"] == ""), block.stderr
    assert set(codes) <= {0, MODEL_INVALID, INPUTS, EXECUTION}
    assert codes.count(MODEL_INVALID) > 20


@pytest.mark.parametrize("size", [0, 12284, 12292, 6144])
def test_inputs_of_the_wrong_size_are_told_with_what_fits(
    runner: NativeRunner, models: Path, tmp_path: Path, size: int
) -> None:
    wrong = tmp_path / "wrong.bin"
    wrong.write_bytes(bytes(size))
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--inputs", str(wrong))
    assert block.exit_code == INPUTS
    assert f"wrong.bin holds {size} bytes; input 0 of the model is float32 [1, 3, 32, 32]" in block.result["error"]


def test_the_wrong_number_of_inputs_is_told(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    only = str(models / "pair.input_0.bin")
    block = run_block(runner.command, models / "pair.pte", tmp_path, "--inputs", only)
    assert block.exit_code == INPUTS
    assert "takes 2 inputs, --inputs names 1 files" in block.result["error"]


@pytest.mark.parametrize("name", ["nowhere.bin", "."])
def test_an_input_that_cannot_be_read_is_named(runner: NativeRunner, models: Path, tmp_path: Path, name: str) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--inputs", str(tmp_path / name))
    assert block.exit_code == INPUTS
    assert "Cannot read the input" in block.result["error"]


@pytest.mark.parametrize("flag", ["--result_path", "--etdump_path", "--outputs_path", "--output_file"])
def test_a_place_that_cannot_be_written_stops_before_time_is_spent(
    runner: NativeRunner, models: Path, tmp_path: Path, flag: str
) -> None:
    place = str(tmp_path / "no such folder" / "file")
    block = run_block(runner.command, models / "fp32.pte", tmp_path, flag, place, "--num_executions", "100000")
    assert block.exit_code == NOT_WRITTEN
    assert "no such folder/file" in block.stderr


def test_an_unknown_feature_group_lists_the_known_ones(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--hide_isa", "sme3")
    assert block.exit_code == USAGE
    assert "Known here:" in block.result["error"]


def test_names_that_are_not_text_still_give_valid_json(runner: NativeRunner, tmp_path: Path) -> None:
    command = [*map(os.fsencode, runner.command), b"--model_path", b'/no/such/\xff"\n.pte']
    done = subprocess.run([*command, b"--result_path", os.fsencode(tmp_path / "r.json")], timeout=30)
    assert done.returncode == MODEL_UNREADABLE
    assert '?"\n.pte' in json.loads((tmp_path / "r.json").read_bytes())["error"]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT])
def test_a_runner_stopped_half_way_leaves_what_it_had(
    runner: NativeRunner, models: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    result = tmp_path / "result.json"
    flags = ["--warmup", "3", "--num_executions", "1000000", "--result_path", str(result)]
    command = [*runner.command, "--model_path", str(models / "fp32.pte"), *flags]
    # How long loading and warming up take depends on the machine; whoever stops too early tries again, later.
    for delay_s in (0.5, 2.0, 8.0):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        time.sleep(delay_s)
        process.send_signal(stop)
        _, stderr = process.communicate(timeout=30)
        left = json.loads(result.read_bytes())
        if "timed iterations" in left["error"]:
            break
    assert process.returncode == CRASHED
    assert left["error"].startswith(f"The runner was stopped by {stop.name}")
    assert left["error"].endswith("while running timed iterations.")
    assert left["error"] in stderr
    assert len(left["warmup_ns"]) == 3
    assert left["load_ns"] > 0
    assert left["latency_ns"] == []
