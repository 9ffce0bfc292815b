"""A good run passes; every kind of damage is named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.reporting import analyze, write_report
from etprof.core.plan import Plan
from etprof.store.session_file import load_session, save_session
from etprof.store.validate import find_problems
from etprof.traces.etdump import read_etdump
from scripted_device import a_runnable_plan, copy_run, run_scripted


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    plan = a_runnable_plan(tmp_path_factory.mktemp("reported"), blocks=3)
    run_scripted(plan)
    write_report(analyze(plan.output_root))
    return plan


@pytest.fixture
def run(reported: Plan, tmp_path: Path) -> Path:
    """The folder of a good, reported run."""
    return copy_run(reported, tmp_path).output_root


def find_all(folder: Path) -> list[str]:
    """Every problem, those inside the traces too."""
    return find_problems(folder, read_etdump)


def test_a_good_run_has_no_problem(run: Path) -> None:
    assert find_all(run) == []


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
        (drop("off/off_t1.outputs/output_0.bin"), "off/off_t1.outputs/output_0.bin is missing."),
        (write("off/off_t1.outputs/output_0.bin", b"else"), "off_t1, block 1: off/off_t1.outputs/output_0.bin is not"),
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
    problems = find_all(run)
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_failed_block_is_named_with_its_reason(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, off="refuse", blocks=1)
    run_scripted(plan)
    assert find_problems(plan.output_root) == ["off_t1, block 1 failed: exit code 3"]


def test_a_folder_of_the_older_format_is_validated_by_its_traces(run: Path) -> None:
    (run / "metrics.json").unlink()
    (run / "manifest.json").write_text(json.dumps({"model": "m.pte", "results": [{"experiment": "on"}]}))
    assert find_all(run) == []
    (run / "on/on_t1.etdump").write_bytes(b"")
    assert any("on_t1.etdump is empty" in problem for problem in find_problems(run))


def test_the_model_may_be_missing_when_only_the_folder_was_mailed(run: Path) -> None:
    (run.parent.parent / "model.pte").unlink()
    assert find_problems(run) == []


def test_a_run_needs_the_reports_that_it_says_it_wrote_and_no_others(run: Path) -> None:
    (run / "report.html").unlink()
    assert find_problems(run) == [f"report.html is missing; `etprof report {run}` writes it."]
    session = load_session(run)
    save_session(run, replace(session, reports=("report.md",)))
    assert find_problems(run) == []


def test_an_interrupted_run_says_how_to_finish_it(run: Path) -> None:
    save_session(run, replace(load_session(run), stop_reason="", reports=()))
    (problem,) = find_problems(run)
    assert problem == "The run was interrupted after 6 blocks; `etprof run --resume` finishes it."


def test_a_run_without_a_block_says_so(run: Path) -> None:
    save_session(run, replace(load_session(run), results=()))
    assert "No block was run." in find_problems(run)
