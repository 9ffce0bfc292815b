"""`etprof kernels`, its neighbours and their doors, from the command line to the files they leave."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, run_etprof
from etprof.runner.toolchain import compiler_path
from parts import need

XNN = "xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot"


def read_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture(scope="module")
def sampled(toy_cnn: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    need(sys.platform == "linux" and compiler_path(), "sampling needs Linux and a C++ compiler")
    folder = tmp_path_factory.mktemp("sampled") / "run"
    said = run_etprof(
        "kernels", str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"), "--output-root", str(folder), "--seconds", "0.5",
        "--blocks", "1",
    )  # fmt: skip
    return folder, said


def test_a_model_is_sampled_shown_and_hidden(sampled: tuple[Path, str]) -> None:
    folder, said = sampled
    assert "executed: yes, in " in said
    assert "executed: no, in none of " in said
    results = json.loads((folder / "metrics.json").read_bytes())["results"]
    assert [(r["latency_ns"], bool(r["samples"])) for r in results] == [([], True)] * 2
    tables = sorted(folder.glob("*/*_kernels.csv"))
    assert len(tables) == 2
    rows = read_rows(tables[0])
    assert {row["level"] for row in rows} == {"executed"}
    assert sum(int(row["samples"]) for row in rows) > 100


def test_a_run_is_shown_again_without_running_it(sampled: tuple[Path, str], tmp_path: Path) -> None:
    said = run_etprof("kernels", str(sampled[0]), "--out", str(tmp_path / "all.csv"), "--verbose")
    assert "executed: yes, in " in said
    assert (tmp_path / "all.csv").exists()


def test_a_sampled_run_is_valid_and_can_be_replayed(sampled: tuple[Path, str], tmp_path: Path) -> None:
    run_etprof("validate", "--results", str(sampled[0]))
    copy = tmp_path / "copy"
    run_etprof("run", "--device", f"recorded:{sampled[0]}", "--output-root", str(copy))
    assert "executed: yes, in " in run_etprof("kernels", str(copy))


def test_the_kernel_view_door_puts_them_side_by_side(sampled: tuple[Path, str], tmp_path: Path) -> None:
    on, off = (next(sampled[0].glob(f"*_{arm}/*_kernels.csv")) for arm in ("on", "off"))
    for target in (tmp_path / "view.md", tmp_path / "view.csv"):
        door = [sys.executable, str(ROOT / "model_profiling/tools/generate_kernel_view.py")]
        arguments = ["--sme2-on", str(on), "--sme2-off", str(off), "--out", str(target)]
        done = subprocess.run([*door, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert "Convolution (NHWC, F32) IGEMM" in target.read_text(encoding="utf-8")
    rows = read_rows(tmp_path / "view.csv")
    assert any(row["changed"] == "yes" and "Convolution" in row["operator"] for row in rows)


def test_a_plan_can_be_run_with_sampled_twins(toy_cnn: Path, tmp_path: Path) -> None:
    need(sys.platform == "linux" and compiler_path(), "sampling needs Linux and a C++ compiler")
    plan = tmp_path / "plan.json"
    model = toy_cnn / "toy_cnn_xnnpack_fp32.pte"
    content = {
        "model": str(model), "output_root": str(tmp_path / "run"), "experiments": [{"name": "on", "runs": 5}],
        "schedule": {"blocks": 1, "max_blocks": 1},
    }  # fmt: skip
    plan.write_text(json.dumps(content), encoding="utf-8")
    run_etprof("run", "--config", str(plan), "--kernels")
    report = json.loads((tmp_path / "run" / "analysis_summary.json").read_bytes())
    arms = {arm["experiment"]: arm for arm in report["arms"]}
    assert arms["on"]["latency"] is not None
    assert arms["on_kernels"]["latency"] is None
    assert "executed: yes" in arms["on_kernels"]["evidence"]["verdict"]
    assert any(row["kernels"] for row in arms["on"]["operators"])


def test_the_python_runner_cannot_sample_and_the_report_says_so(toy_cnn: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    model = toy_cnn / "toy_cnn_xnnpack_fp32.pte"
    content = {
        "model": str(model), "output_root": str(tmp_path / "run"),
        "experiments": [{"name": "on", "mode": "trace"}], "schedule": {"blocks": 1, "max_blocks": 1},
    }  # fmt: skip
    plan.write_text(json.dumps(content), encoding="utf-8")
    said = run_etprof("run", "--config", str(plan), "--runner", "python")
    assert "no kernels were sampled" in " ".join(said.split())


def test_a_registration_log_is_labelled_so(tmp_path: Path) -> None:
    log, table = tmp_path / "xnn.log", tmp_path / "on.csv"
    log.write_text(f"Using gemm microkernel '{XNN}'\n", encoding="utf-8")
    door = [sys.executable, str(ROOT / "model_profiling/tools/xnntrace_to_kernels.py")]
    done = subprocess.run(
        [*door, "--xnntrace", str(log), "--out", str(table)], capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (row,) = read_rows(table)
    assert (row["level"], row["data_type"], row["kernel"]) == ("registered, not executed", "qd8 f32 qc8w", XNN)
    assert row["instruction_class"] == "NEON"
    assert "registered is not executed" in done.stderr


def test_a_folder_without_samples_says_how_to_get_them(sampled: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(sampled[0], copy)
    metrics = json.loads((copy / "metrics.json").read_bytes())
    for result in metrics["results"]:
        result["samples"] = ""
    (copy / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    assert "holds no kernel samples" in run_etprof("kernels", str(copy), expect=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name a .pte, a run's folder, or a recording"),
        (("missing.pte",), "There is no model missing.pte"),
        (("--import", "missing.script"), "cannot be read"),
        (("--import", "x", "--architecture", "arm65"), "arm64"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    expect = 1 if said == "cannot be read" else 2
    assert said in run_etprof("kernels", *arguments, expect=expect)


def test_a_view_needs_an_ending_it_knows(tmp_path: Path) -> None:
    said = run_etprof("kernel-view", "--on", "a", "--off", "b", "--out", str(tmp_path / "x.txt"), expect=2)
    assert "neither .md nor .csv" in said
