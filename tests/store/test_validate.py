"""A good run passes; every kind of damage is named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.pipeline import analyze, run_plan, validate, write_run_files
from etprof.reports import FORMATS
from etprof.store.layout import REPORT_FILES
from scripted_device import Witness, a_runnable_plan, scripted_device


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a good, reported run."""
    plan = a_runnable_plan(tmp_path, blocks=3)
    run_plan(plan, scripted_device(), Witness(), command="test")
    report = analyze(plan.output_root)
    for name, file in REPORT_FILES.items():
        (plan.output_root / file).write_text(FORMATS[name](report))
    write_run_files(plan.output_root, report)
    return plan.output_root


def test_a_good_run_has_no_problem(run: Path) -> None:
    assert validate(run, deep=True) == []


def drop(name: str) -> Callable[[Path], object]:
    return lambda run: (run / name).unlink()


def write(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda run: (run / name).write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (drop("off/off_t1.etdump"), "off_t1, block 1: off/off_t1.etdump is missing."),
        (write("off/off_t1_b2.etdump", b""), "off_t1, block 2: off/off_t1_b2.etdump is empty."),
        (write("off/off_t1.etdump", b"x" * 99), "off_t1, block 1: "),
        (drop("on/on_t1.log"), "on/on_t1.log is missing."),
        (drop("on/on_t1.outputs/output_0.bin"), "on/on_t1.outputs/output_0.bin is missing."),
        (write("on/on_t1.outputs/output_0.bin", b"else"), "its digest differs."),
        (write("on/on_t1.result.json", b"{"), "on_t1.result.json is not valid JSON"),
        (drop("analysis_summary.json"), "analysis_summary.json is missing; `etprof report"),
        (write("analysis_summary.json", b"[1,"), "analysis_summary.json is not valid JSON"),
        (write("on/on_t1_b9.etdump", b"x"), "on/on_t1_b9.etdump belongs to no block of this run."),
        (write("../../model.pte", b"another"), "is not the file that was measured"),
        (drop("metrics.json"), "metrics.json"),
    ],
)  # fmt: skip
def test_each_kind_of_damage_is_named(run: Path, damage: Callable[[Path], object], problem: str) -> None:
    damage(run)
    problems = validate(run, deep=True)
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_failed_block_is_named_with_its_reason(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, off="refuse", blocks=1)
    run_plan(plan, scripted_device(), Witness(), command="test")
    assert "off_t1, block 1 failed: exit code 3" in validate(plan.output_root, deep=False)


def test_a_folder_of_the_older_format_is_validated_by_its_traces(run: Path) -> None:
    (run / "metrics.json").unlink()
    (run / "manifest.json").write_text(json.dumps({"model": "m.pte", "results": [{"experiment": "on"}]}))
    assert validate(run, deep=True) == []
    (run / "on/on_t1.etdump").write_bytes(b"")
    assert any("on_t1.etdump is empty" in problem for problem in validate(run, deep=False))


def test_the_model_may_be_missing_when_only_the_folder_was_mailed(run: Path) -> None:
    (run.parent.parent / "model.pte").unlink()
    assert validate(run, deep=False) == []


def test_only_a_finished_run_needs_its_reports(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    session = run_plan(plan, scripted_device(), Witness(), command="test")
    assert replace(session, stop_reason="").stop_reason == ""
    assert [p for p in validate(plan.output_root, deep=False) if "is missing" not in p] == []
