"""The runner of ONNX Runtime with the real runtime: what it tells, and how it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etprof.core.model import Artifact
from etprof.runner.onnxruntime_runner import list_libraries
from etprof.traces.runner_result import read_runner_result
from etprof.traces.trace_file import read_trace
from runner_block import read_values, signal_to_noise_db
from shared_exports import SharedExports


@pytest.fixture(scope="module")
def artifact(exported: SharedExports) -> Artifact:
    made = exported("toy_cnn")
    exported.converted(made)
    return made


def run(artifact: Artifact, folder: Path, *flags: str, expect: int = 0) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [
            sys.executable, "-m", "etprof.runner.onnxruntime_runner", "--model_path",
            str(artifact.pte.with_suffix(".onnx")), "--inputs", ",".join(map(str, artifact.inputs)),
            "--result_path", str(folder / "result.json"), *flags,
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads((folder / "result.json").read_text()), done.stderr


def test_one_process_warms_up_times_and_profiles(artifact: Artifact, tmp_path: Path) -> None:
    profile = tmp_path / "t.ortprofile"
    flags = ("--num_executions", "7", "--warmup", "4", "--traced_executions", "3", "--etdump_path", str(profile))
    result, _ = run(artifact, tmp_path, *flags, "--outputs_path", str(tmp_path))
    assert (len(result["warmup_ns"]), len(result["latency_ns"]), len(result["traced_ns"])) == (4, 7, 3)
    assert min(result["latency_ns"]) > 10_000, "no model runs in less than ten microseconds"
    assert 10 << 20 < result["peak_bytes"] < 300 << 20, "without torch"
    assert result["load_ns"] > 0
    assert result["runner"] == "onnxruntime"
    assert result["cpu_time"]["wall_ns"] >= sum(result["latency_ns"])
    said = read_runner_result(tmp_path / "result.json")
    assert (said.error, said.method_name, said.executorch_version) == ("", "forward", "")
    trace = read_trace(profile)
    assert (trace.run_count, trace.signature_count, trace.notes) == (3, 1, ())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["output_0.bin", "result.json", "t.ortprofile"]


def test_its_outputs_are_those_of_the_eager_model(artifact: Artifact, tmp_path: Path) -> None:
    result, _ = run(artifact, tmp_path, "--outputs_path", str(tmp_path))
    (reference,) = artifact.meta.reference
    expected = read_values(artifact.pte.parent / reference.file, reference.dtype)
    assert signal_to_noise_db(expected, read_values(tmp_path / "output_0.bin", "float32")) > 100
    assert (result["outputs"][0]["dtype"], tuple(result["outputs"][0]["shape"])) == ("float32", reference.shape)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_threads_in_force_are_those_that_exist(artifact: Artifact, tmp_path: Path, threads: int) -> None:
    result, _ = run(artifact, tmp_path, "--cpu_threads", str(threads))
    assert result["threads"] == (threads if sys.platform == "linux" else None)


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")
def test_it_keeps_to_the_cores_it_was_given(artifact: Artifact, tmp_path: Path) -> None:
    first = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {first})
    try:
        result, _ = run(artifact, tmp_path, "--cpu_threads", "2", "--num_executions", "20")
    finally:
        os.sched_setaffinity(0, before)
    assert result["cpu_affinity"] == [first]
    assert {thread["core_after"] for thread in result["cpu_time"]["threads"]} == {first}


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--model_path", "none.onnx"), 2, "There is no file none.onnx"),
        (("--model_path", __file__), 6, "ONNX Runtime cannot load test_onnxruntime_runner.py"),
        (("--inputs", __file__), 7, "bytes; input 0 of the model is"),
        (("--inputs", f"{__file__},{__file__}"), 7, "takes 1 inputs, --inputs names 2"),
        (("--input_shapes", "1x3x512x512"), 7, "cannot be [1, 3, 512, 512]"),
        (("--method_name", "backward"), 6, "has no method 'backward'"),
        (("--hide_isa", "avx512"), 2, "ONNX Runtime cannot hide avx512"),
    ],
)
def test_a_refusal_is_a_sentence_an_exit_code_and_a_result_file(
    artifact: Artifact, tmp_path: Path, flags: tuple[str, ...], code: int, said: str
) -> None:
    result, stderr = run(artifact, tmp_path, *flags, expect=code)
    assert said in stderr
    assert result["error"]
    assert result["latency_ns"] == []


def test_without_inputs_every_element_is_one(artifact: Artifact, tmp_path: Path) -> None:
    run(artifact, tmp_path, "--inputs", "", "--outputs_path", str(tmp_path / "unset"))
    ones = np.ones(artifact.inputs[0].stat().st_size // 4, "<f4")
    (tmp_path / "ones.bin").write_bytes(ones.tobytes())
    run(artifact, tmp_path, "--inputs", str(tmp_path / "ones.bin"), "--outputs_path", str(tmp_path / "ones"))
    assert (tmp_path / "unset/output_0.bin").read_bytes() == (tmp_path / "ones/output_0.bin").read_bytes()


def test_without_the_package_the_command_that_installs_it_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['onnxruntime'] = None; from etprof.runner.onnxruntime_runner import main; main()"
    model = tmp_path / "m.onnx"
    model.touch()
    done = subprocess.run(
        [sys.executable, "-c", code, "--model_path", str(model)], capture_output=True, text=True, timeout=60
    )
    assert "error: onnxruntime is not installed." in done.stderr
    assert 'hint: Run: pip install "etprof[onnxruntime]"' in done.stderr


def test_its_libraries_are_found(artifact: Artifact) -> None:
    assert any("onnxruntime" in path.name for path in list_libraries())
