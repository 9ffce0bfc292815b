"""`etprof run`: from a plan or a recording to the report, as typed."""

import json
import sys
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import main
from etprof.runner.toolchain import compiler_path
from parts import need
from scripted_device import a_recording, a_runnable_plan, run_scripted

Capture = pytest.CaptureFixture[str]


def write_plan(folder: Path, **content: object) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"output_root": str(folder / "run"), **content}), encoding="utf-8")
    return path


def test_a_replay_goes_from_recording_to_report(run_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    line = ["run", "--device", f"recorded:{run_dir}", "--output-root", str(tmp_path / "again")]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert "speed-up 2.00x" in " ".join(text.split())
    positions = [text.index(f"{stage} ok\n") for stage in ("pipeline", "report")]
    assert positions == sorted(positions)
    assert main(["validate", str(tmp_path / "again"), "--deep"]) == 0
    assert main(line) == 0
    assert len(list((tmp_path / "again/earlier").iterdir())) == 1, "what was measured is not overwritten"
    assert main([*line, "--force"]) == 0
    assert not (tmp_path / "again/earlier").exists()


def test_a_replay_takes_its_plan_from_the_recording(run_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    for more in ([], ["plan.json", "--output-root", str(tmp_path / "again")]):
        assert main(["run", "--device", f"recorded:{run_dir}", *more]) == 2
        assert "A replay takes its plan from the recording." in capsys.readouterr().err


def test_a_failed_block_makes_the_exit_code_1_and_is_in_the_report(tmp_path: Path, capsys: Capture) -> None:
    folder = a_recording(tmp_path / "failed", on="refuse").folder
    assert main(["run", "--device", f"recorded:{folder}", "--output-root", str(tmp_path / "again")]) == 1
    assert "pipeline ended with 2 failed blocks" in capsys.readouterr().out
    assert "exit code 3" in (tmp_path / "again" / "report.md").read_text()


def test_a_dry_run_says_what_would_run_and_writes_nothing(tmp_path: Path, capsys: Capture) -> None:
    experiments = [{"name": "off", "hide_isa": ["sme2"]}, {"name": "on"}]
    config = write_plan(tmp_path, model="m.pte", experiments=experiments, schedule={"blocks": 2, "max_blocks": 5})
    assert main(["run", "--config", str(config), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "round 2: on_t1, off_t1\n" in text
    assert "then up to 3 more rounds" in text
    assert "compare: on, 1 thread against off, 1 thread\n" in text
    assert main(["run", str(config), "--dry-run", "--only", "on", "--kernels"]) == 0
    assert "round 1: on_t1, on_kernels_t1\n" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


def test_a_dry_run_names_the_thread_counts_that_are_compared(tmp_path: Path, capsys: Capture) -> None:
    experiments = [{"name": "one", "threads": 1}, {"name": "two", "threads": 2}]
    config = write_plan(tmp_path, model="m.pte", experiments=experiments)
    assert main(["run", "--config", str(config), "--dry-run"]) == 0
    assert "compare: two, 2 threads against one, 1 thread\n" in capsys.readouterr().out


def test_analysis_only_runs_nothing(run_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    config = write_plan(tmp_path, model="m.pte", experiments=[{"name": "on"}])
    metrics = (run_dir / "metrics.json").read_bytes()
    assert main(["run", "--config", str(config), "--output-root", str(run_dir), "--analysis-only"]) == 0
    assert "report ok" in capsys.readouterr().out
    assert (run_dir / "metrics.json").read_bytes() == metrics


def test_a_run_in_which_no_block_succeeded_says_so(tmp_path: Path, capsys: Capture) -> None:
    plan = a_runnable_plan(tmp_path, on="refuse", off="refuse", blocks=1)
    run_scripted(plan)
    assert main(["report", str(plan.output_root)]) == 1
    assert "holds no successful block" in capsys.readouterr().err


def test_a_plan_can_be_run_with_sampled_twins(toy_cnn: Path, tmp_path: Path) -> None:
    need(sys.platform == "linux" and compiler_path(), "sampling needs Linux and a C++ compiler")
    plan = write_plan(
        tmp_path, model=str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"), experiments=[{"name": "on", "runs": 5}],
        schedule={"blocks": 1, "max_blocks": 1},
    )  # fmt: skip
    run_etprof("run", "--config", str(plan), "--kernels")
    report = json.loads((tmp_path / "run" / "analysis_summary.json").read_bytes())
    variants = {variant["experiment"]: variant for variant in report["variants"]}
    assert variants["on"]["latency"] is not None
    assert variants["on_kernels"]["latency"] is None
    assert "executed: yes" in variants["on_kernels"]["evidence"]["verdict"]
    assert any(row["kernels"] for row in variants["on"]["operators"])


def test_the_python_runner_cannot_sample_and_the_report_says_so(toy_cnn: Path, tmp_path: Path) -> None:
    plan = write_plan(
        tmp_path, model=str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"), experiments=[{"name": "on", "mode": "trace"}],
        schedule={"blocks": 1, "max_blocks": 1},
    )  # fmt: skip
    said = run_etprof("run", "--config", str(plan), "--runner", "python", "--verbose")
    assert "no kernels were sampled" in " ".join(said.split())
    assert "--model_path" in said, "--verbose shows the runner's command line"
