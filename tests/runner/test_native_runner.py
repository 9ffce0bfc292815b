"""The native runner as its contract describes it: built for real, run on real models."""

import hashlib
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from etprof.runner.build import NativeRunner
from etprof.traces.etdump import read_etdump
from runner_block import read_values, run_block, signal_to_noise_db

# They run and time the native runner, which is built in a cache of the tests' own.
pytestmark = pytest.mark.alone

# Far below what was measured (130, 71 and 36 dB), far above what a wrong kernel gives.
_LEAST_SNR_DB = {"fp32": 90, "fp16": 45, "int8": 20}


@pytest.mark.parametrize("precision", _LEAST_SNR_DB)
@pytest.mark.portable
def test_outputs_match_the_eager_model(runner: NativeRunner, models: Path, tmp_path: Path, precision: str) -> None:
    block = run_block(runner.command, models / f"{precision}.pte", tmp_path)
    assert (block.exit_code, block.result["error"]) == (0, "")
    dtype = block.result["outputs"][0]["dtype"]
    expected = read_values(models / f"{precision}.expected_0.bin", dtype)
    assert signal_to_noise_db(expected, block.output()) > _LEAST_SNR_DB[precision]


@pytest.mark.portable
def test_one_process_is_one_block(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    flags = ("--warmup", "4", "--warmup_max", "60", "--num_executions", "7", "--traced_executions", "5")
    block = run_block(runner.command, models / "fp32.pte", tmp_path, *flags)
    result = block.result
    assert (result["schema_version"], result["runner"], result["method_name"]) == (2, "native", "forward")
    assert result["executorch_version"] == runner.executorch_version
    assert result["runner_version"] == runner.runner_version
    assert 6 <= len(result["warmup_ns"]) <= 60
    assert (len(result["latency_ns"]), len(result["traced_ns"])) == (7, 5)
    assert all(t > 1000 for t in result["warmup_ns"] + result["latency_ns"] + result["traced_ns"])
    assert result["load_ns"] > 10_000
    assert result["threads"] == 1
    assert len(result["cpu_affinity"]) > 0
    assert result["cpu_before"].keys() == {"frequencies_khz", "load_average", "temperature_c", "throttling"}
    assert result["cpu_after"]["load_average"] >= 0
    assert read_etdump(block.etdump).run_count == 5


def test_peak_memory_is_the_runners_own(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    # A parent's size is what getrusage would report in a child that was just started.
    ballast = np.ones(64 * 1024 * 1024 // 8)
    block = run_block(runner.command, models / "fp32.pte", tmp_path)
    assert 2**20 < block.result["peak_bytes"] < ballast.nbytes


def test_warmup_is_not_judged_without_a_maximum(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--warmup", "3")
    assert (len(block.result["warmup_ns"]), block.result["warmup_steady"]) == (3, None)


def test_warmup_says_when_it_ended_unsteady(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--warmup", "1", "--warmup_max", "5")
    assert (len(block.result["warmup_ns"]), block.result["warmup_steady"]) == (5, False)


@pytest.mark.portable
def test_digests_are_those_of_the_files(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    block = run_block(runner.command, models / "pair.pte", tmp_path)
    for index, output in enumerate(block.result["outputs"]):
        data = (tmp_path / "outputs" / f"output_{index}.bin").read_bytes()
        assert output["sha256"] == hashlib.sha256(data).hexdigest()
        assert data == (models / f"pair.expected_{index}.bin").read_bytes()
    assert [(o["dtype"], o["shape"]) for o in block.result["outputs"]] == [("float32", [2, 3]), ("int64", [3, 2])]


@pytest.mark.portable
def test_files_are_row_major_whatever_the_program_keeps(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    run_block(runner.command, models / "channels_last.pte", tmp_path)
    written = (tmp_path / "outputs" / "output_0.bin").read_bytes()
    assert written == (models / "channels_last.expected_0.bin").read_bytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_in_force_are_those_asked_for(runner: NativeRunner, models: Path, tmp_path: Path, threads: int) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--cpu_threads", str(threads))
    assert block.result["threads"] == threads


def test_stock_flags_alone_are_enough(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    flags = ("--num_executions=3", f"--etdump_path={tmp_path / 'x.etdump'}", f"--output_file={tmp_path / 'out'}")
    command = [*runner.command, f"--model_path={models / 'pair.pte'}", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"schema_version":2')
    assert read_etdump(tmp_path / "x.etdump").run_count == 3
    # Without --inputs every element is one: 1 * 2.0 and 1 + 1.
    assert np.array_equal(read_values(tmp_path / "out-0.bin", "float32"), np.full(6, 2.0))
    assert np.array_equal(read_values(tmp_path / "out-1.bin", "int64"), np.full(6, 2))


def test_help_names_every_flag_of_the_contract(runner: NativeRunner) -> None:
    done = subprocess.run([*runner.command, "--help"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    for flag in (
        "model_path", "method_name", "inputs", "num_executions", "warmup", "warmup_max", "traced_executions",
        "cpu_threads", "etdump_path", "result_path", "outputs_path", "output_file", "hide_isa",
    ):  # fmt: skip
        assert f"  --{flag} " in done.stdout
    assert "Exit codes: 0 done, 2 wrong usage" in done.stdout


def test_the_reference_pages_have_the_same_flags_and_exit_codes(runner: NativeRunner) -> None:
    printed = subprocess.run([*runner.command, "--help"], capture_output=True, text=True, timeout=30).stdout
    reference = Path(__file__).parents[2] / "docs" / "reference"
    page = (reference / "runner.md").read_text(encoding="utf-8")
    flags = set(re.findall(r"^  (--\w+)", printed, re.MULTILINE)) - {"--help"}
    assert set(re.findall(r"`(--\w+)", page.split("## Flags")[1].split("## Exit codes")[0])) == flags
    codes = re.findall(r"(\d+) [a-z]", printed.split("Exit codes: ")[1])
    endings = (reference / "errors.md").read_text(encoding="utf-8").split("## Exit codes of a runner")[1]
    assert re.findall(r"^\| (\d+) \|", endings.split("\n## ")[0], re.MULTILINE) == codes


def test_an_old_etdump_is_gone_when_nothing_is_traced(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    (tmp_path / "block.etdump").write_bytes(b"from an earlier run")
    block = run_block(runner.command, models / "fp32.pte", tmp_path)
    assert not block.etdump.exists()


def test_iterations_are_counted_on_the_inputs_given(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    # Planned memory is reused inside a run, so a runner that sets inputs only once would drift from run to run.
    once = run_block(runner.command, models / "fp32.pte", tmp_path / "once", "--num_executions", "1")
    often = run_block(runner.command, models / "fp32.pte", tmp_path / "often", "--num_executions", "25")
    assert once.result["outputs"] == often.result["outputs"]
