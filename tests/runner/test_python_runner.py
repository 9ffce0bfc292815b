"""The Python runner with the real runtime: what it tells, what hiding does, and how it refuses."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etprof.core.memory import PACKING, STAGES, Cached, classify_cached
from etprof.runner.block_runner import is_steady, warm_up
from etprof.runner.cpu_features import present_features
from etprof.traces.etdump import read_etdump
from parts import need


def run(toy_cnn: Path, folder: Path, *flags: str, expect: int = 0) -> tuple[dict[str, Any], str]:
    stem = toy_cnn / "toy_cnn_xnnpack_fp32"
    done = subprocess.run(
        [
            sys.executable, "-m", "etprof.runner.python_runner", "--model_path", f"{stem}.pte",
            "--inputs", f"{stem}.input_0.bin", "--result_path", str(folder / "result.json"), *flags,
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads((folder / "result.json").read_text()), done.stderr


def test_one_process_warms_up_times_and_traces(toy_cnn: Path, tmp_path: Path) -> None:
    flags = ("--num_executions", "7", "--warmup", "4", "--traced_executions", "3", "--etdump_path")
    result, _ = run(toy_cnn, tmp_path, *flags, str(tmp_path / "t.etdump"), "--outputs_path", str(tmp_path))
    assert (len(result["warmup_ns"]), len(result["latency_ns"]), len(result["traced_ns"])) == (4, 7, 3)
    assert min(result["latency_ns"]) > 10_000, "no model runs in less than ten microseconds"
    assert result["threads"] == 1
    assert 50 << 20 < result["peak_bytes"] < 500 << 20, "torch and the model, but not the memory of whoever started it"
    assert result["executorch_version"] == "1.5.1"
    assert read_etdump(tmp_path / "t.etdump").run_count == 3
    assert np.isfinite(np.fromfile(tmp_path / "output_0.bin", "<f4")).all()


@pytest.mark.alone
def test_hiding_a_feature_slows_the_model_down_and_keeps_its_outputs(toy_cnn: Path, tmp_path: Path) -> None:
    need("avx512f" in present_features(), "this CPU has no AVX-512 to hide")
    medians: dict[str, int] = {}
    outputs: dict[str, Any] = {}
    for hide in ("", "avx512", "", "avx512"):
        flags = ("--num_executions", "30", "--warmup", "5", "--outputs_path", str(tmp_path / f"out{hide}"))
        result, _ = run(toy_cnn, tmp_path, *flags, "--hide_isa", hide)
        medians[hide] = min(medians.get(hide, 1 << 60), sorted(result["latency_ns"])[15])
        outputs[hide] = np.fromfile(tmp_path / f"out{hide}" / "output_0.bin", "<f4")
        assert ("avx512f" in result["features_hidden"]) == bool(hide)
        assert "avx512f" in result["features_seen"]
        assert "agree with the operating system" in result["isa_proof"]
    assert medians["avx512"] > 1.2 * medians[""]
    assert not np.array_equal(outputs[""], outputs["avx512"]), "other kernels round otherwise"
    assert np.allclose(outputs[""], outputs["avx512"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--model_path", "none.pte"), 2, "There is no file none.pte"),
        (("--model_path", __file__), 6, "ExecuTorch cannot load test_python_runner.py"),
        (("--inputs", __file__), 7, "bytes; input 0 of the model is"),
        (("--inputs", f"{__file__},{__file__}"), 7, "takes 1 inputs, --inputs names 2"),
        (("--method_name", "backward"), 6, "has no method 'backward', only forward"),
        (("--hide_isa", "avx51"), 2, "Did you mean 'avx512'"),
    ],
)
def test_a_refusal_is_a_sentence_an_exit_code_and_a_result_file(
    toy_cnn: Path, tmp_path: Path, flags: tuple[str, ...], code: int, said: str
) -> None:
    result, stderr = run(toy_cnn, tmp_path, *flags, expect=code)
    assert said in stderr
    assert result["error"]
    assert result["latency_ns"] == []


def test_without_inputs_every_element_is_one(toy_cnn: Path, tmp_path: Path) -> None:
    run(toy_cnn, tmp_path, "--inputs", "", "--outputs_path", str(tmp_path / "unset"))
    ones = np.ones(len((toy_cnn / "toy_cnn_xnnpack_fp32.input_0.bin").read_bytes()) // 4, "<f4")
    (tmp_path / "ones.bin").write_bytes(ones.tobytes())
    run(toy_cnn, tmp_path, "--inputs", str(tmp_path / "ones.bin"), "--outputs_path", str(tmp_path / "ones"))
    assert (tmp_path / "unset/output_0.bin").read_bytes() == (tmp_path / "ones/output_0.bin").read_bytes()


def test_warm_up_ends_when_times_are_steady_or_at_its_maximum() -> None:
    falling = iter([100, 90, 80, 50, 50, 50, 50, 50, 50, 50])
    assert warm_up(lambda: next(falling), 3, 50) == ([100, 90, 80, 50, 50, 50, 50, 50], True)
    restless = iter(range(100, 10_000, 100))
    assert warm_up(lambda: next(restless), 2, 8) == ([100, 200, 300, 400, 500, 600, 700, 800], False)
    assert warm_up(lambda: 1, 2, 2) == ([1, 1], None)


def test_steady_means_that_two_windows_have_the_same_median() -> None:
    assert is_steady([9, 9, 9, 100, 101, 99, 100, 99, 102])
    assert not is_steady([100, 100, 100, 110, 110, 110])
    assert not is_steady([100] * 5)


def test_a_start_has_its_stages_with_their_memory_and_parts_that_add_up(toy_cnn: Path, tmp_path: Path) -> None:
    options = ("--load_options", "workspace_sharing_mode=1,weight_cache_enabled=true")
    result, _ = run(toy_cnn, tmp_path, "--num_executions", "2", "--warmup", "1", "--page_cache", "out", *options)
    stages = {stage["name"]: stage for stage in result["stages"]}
    assert list(stages) == [name for name in STAGES if name != PACKING]
    for stage in stages.values():
        parts = ("model_bytes", "library_bytes", "cache_bytes", "file_bytes", "anonymous_bytes")
        assert sum(stage[part] for part in parts) == stage["rss_bytes"] <= result["peak_bytes"]
    assert result["load_ns"] == stages["program"]["duration_ns"] + stages["method"]["duration_ns"]
    need(classify_cached(result["cached_share"]) is not Cached.IN, "this file system keeps every page in memory")
    assert classify_cached(result["cached_share"]) is Cached.OUT


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("weight_cache=true", "XNNPACK has no load option 'weight_cache'; Did you mean 'weight_cache_enabled'?"),
        ("workspace_sharing_mode=9", "workspace_sharing_mode takes 0, 1 or 2"),
        ("weight_cache_enabled=true,packed_cache_path=p", "The Python runner cannot set packed_cache_path."),
    ],
)
def test_a_load_option_that_it_cannot_set_is_refused(
    toy_cnn: Path, tmp_path: Path, options: str, sentence: str
) -> None:
    result, _ = run(toy_cnn, tmp_path, "--load_options", options, expect=2)
    assert sentence in result["error"]
