"""Measuring from Python, from the device's name to the written report; the runner is the scripted one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import etprof
from etprof.core.errors import PlanError, UsageError
from etprof.store.session_file import load_session, save_session
from etprof.store.validate import find_problems
from program_builder import build_program
from scripted_device import a_runnable_plan


@pytest.fixture
def pte(tmp_path: Path) -> Path:
    path = tmp_path / "artifacts" / "model.pte"
    path.parent.mkdir()
    path.write_bytes(build_program())
    return path


def a_plan_file(folder: Path) -> dict[str, Any]:
    """The content of a plan file, with a model beside it."""
    plan = a_runnable_plan(folder)
    return {
        "model": str(plan.model),
        "output_root": str(plan.output_root),
        "inputs": [str(path) for path in plan.inputs],
        "experiments": [{"name": "off", "hide_isa": ["avx512"]}, {"name": "on"}],
        "schedule": {"blocks": 2, "retries": 0},
    }


def test_a_profile_is_measured_and_its_report_written(pte: Path, scripted: str) -> None:
    run = etprof.profile(pte, device=scripted, blocks=3, max_blocks=3, runs=6, threads=2)
    assert run.folder == pte.parent.parent / "runs" / "linux_model"
    assert find_problems(run.folder) == []
    assert (run.folder / "report.html").is_file()
    session = load_session(run.folder)
    assert session.command == "etprof.profile('model.pte')"
    assert (session.plan.schedule.blocks, session.plan.schedule.max_blocks) == (3, 3)
    assert {(e.runs, e.threads) for e in session.plan.experiments} == {(6, (2,))}
    assert [row["experiment"] for row in run.latencies()] == ["linux_avx512_off", "linux_avx512_on"]
    assert repr(etprof.load_run(run.folder)) == repr(run)


def test_several_thread_counts_are_compared_with_each_other(pte: Path, scripted: str, tmp_path: Path) -> None:
    run = etprof.profile(pte, device=scripted, blocks=3, max_blocks=3, runs=4, threads=(2, 1))
    assert [(row["experiment"], row["threads"]) for row in run.scaling()] == [
        ("linux_avx512_off", 1), ("linux_avx512_off", 2), ("linux_avx512_on", 1), ("linux_avx512_on", 2),
    ]  # fmt: skip
    assert run.report.scaling is not None
    assert run.report.scaling.comparisons == 1 + 1 + 2
    for name in ("report.md", "report.html"):
        assert "Threads" in (run.folder / name).read_text()
    assert (run.folder / "charts" / "threads.svg").is_file()
    one = etprof.profile(pte, device=scripted, blocks=1, max_blocks=1, runs=2, output_root=tmp_path / "one")
    assert (len(one.scaling()), one.report.scaling) == (0, None)
    with pytest.raises(UsageError, match="threads is 'many'"):
        etprof.profile(pte, device=scripted, threads="many", output_root=tmp_path / "none")


def test_a_budget_is_a_text_or_a_number_of_seconds(pte: Path, scripted: str, tmp_path: Path) -> None:
    for budget in ("90s", "1.5m", 90, 90.0):
        run = etprof.profile(pte, device=scripted, blocks=1, max_blocks=1, budget=budget, force=True)
        assert load_session(run.folder).plan.schedule.time_budget_s == 90.0
    with pytest.raises(UsageError, match="not a duration"):
        etprof.profile(pte, device=scripted, budget="soon", output_root=tmp_path / "none")


def test_kernels_are_sampled_when_asked_for(pte: Path, scripted: str) -> None:
    run = etprof.profile(pte, device=scripted, blocks=1, max_blocks=1, kernels=True)
    assert {row["experiment"] for row in run.kernels()} == {"linux_avx512_off_kernels", "linux_avx512_on_kernels"}


def test_progress_counts_the_blocks(pte: Path, scripted: str) -> None:
    told: list[tuple[int, int | None, str]] = []
    etprof.profile(
        pte,
        device=scripted,
        blocks=2,
        max_blocks=2,
        progress=lambda done, total, text: told.append((done, total, text)),
    )
    assert told[0] == (0, None, "the device is ready")
    assert told[1] == (0, None, f"results go to {pte.parent.parent / 'runs' / 'linux_model'}")
    assert [text.partition(":")[0] for _, _, text in told[2:4]] == [
        "measuring what this CPU can do, once for this device",
        "no roofline",
    ]
    assert told[4] == (0, 4, "linux_avx512_off_t1, block 1")
    assert told[-1] == (4, 4, "linux_avx512_off_t1, block 2: finished")


def test_progress_can_be_shown_without_a_function(pte: Path, scripted: str, capsys: pytest.CaptureFixture[str]) -> None:
    etprof.profile(pte, device=scripted, blocks=1, max_blocks=1, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the device is ready" in shown.err
    assert "block 2 of 2" in shown.err


def test_without_progress_nothing_is_printed(pte: Path, scripted: str, capfd: pytest.CaptureFixture[str]) -> None:
    etprof.profile(pte, device=scripted, blocks=1, max_blocks=1)
    assert capfd.readouterr() == ("", "")


def test_an_older_run_is_kept_moved_aside_or_continued(pte: Path, scripted: str) -> None:
    options: dict[str, Any] = {"device": scripted, "blocks": 1, "max_blocks": 1}
    first = etprof.profile(pte, **options)
    etprof.profile(pte, **options)
    assert len(list(first.folder.parent.iterdir())) == 1
    assert len(list((first.folder / "earlier").iterdir())) == 1
    etprof.profile(pte, force=True, **options)
    assert len(list(first.folder.parent.iterdir())) == 2
    session = load_session(first.folder)
    save_session(first.folder, replace(session, results=session.results[:1], stop_reason=""))
    continued = etprof.profile(pte, resume=True, **options)
    assert load_session(first.folder).results[0] == session.results[0], "what was measured is kept"
    assert [row["blocks"] for row in continued.latencies()] == [1, 1]
    with pytest.raises(UsageError, match="mutually exclusive"):
        etprof.profile(pte, force=True, resume=True, **options)


@pytest.mark.parametrize("option", ["threads", "runs", "blocks", "max_blocks"])
def test_a_count_below_one_is_refused_before_anything_runs(option: str, pte: Path, scripted: str) -> None:
    counts: dict[str, Any] = {option: 0}
    with pytest.raises(UsageError, match=f"{option} is 0"):
        etprof.profile(pte, device=scripted, **counts)
    assert not (pte.parent.parent / "runs").exists()


def test_a_model_or_a_device_that_does_not_exist_is_refused(tmp_path: Path, pte: Path) -> None:
    with pytest.raises(etprof.EtprofError, match="no model"):
        etprof.profile(tmp_path / "none.pte")
    with pytest.raises(etprof.EtprofError, match="no device"):
        etprof.profile(pte, device="nowhere")


def test_an_emulated_profile_shows_no_time(pte: Path, scripted: str) -> None:
    run = etprof.profile(pte, device=f"{scripted}:emulated", kernels=True)
    assert len(run.latencies()) == len(run.categories()) == len(run.operators()) == 0
    assert len(run.kernels()) > 0
    assert " ms" not in run._repr_html_()


def test_a_plan_is_run_from_a_file_and_from_its_content(tmp_path: Path, scripted: str) -> None:
    content = a_plan_file(tmp_path)
    path = tmp_path / "my_plan.json"
    path.write_text(json.dumps(content))
    from_file = etprof.run_plan(path, device=scripted)
    from_dict = etprof.run_plan(content, device=scripted, output_root=tmp_path / "other")
    assert from_dict.folder == tmp_path / "other"
    assert load_session(from_file.folder).command == "etprof.run_plan('my_plan.json')"
    for run in (from_file, from_dict):
        assert [row["blocks"] for row in run.latencies()] == [2, 2]
        assert find_problems(run.folder) == []


def test_a_plan_object_is_run_as_it_is(tmp_path: Path, scripted: str) -> None:
    run = etprof.run_plan(a_runnable_plan(tmp_path, blocks=2), device=scripted, only=["on"])
    assert [row["experiment"] for row in run.latencies()] == ["on"]
    assert len(run.verdicts()) == 0


def test_a_plans_kernels_are_sampled_when_asked_for(tmp_path: Path, scripted: str) -> None:
    run = etprof.run_plan(a_plan_file(tmp_path), device=scripted, kernels=True)
    assert {row["experiment"] for row in run.kernels()} == {"off_kernels", "on_kernels"}


def test_a_plan_with_a_mistake_is_refused_with_its_place(tmp_path: Path, scripted: str) -> None:
    content = a_plan_file(tmp_path) | {"schedule": {"block": 2}}
    with pytest.raises(PlanError, match=r"the plan: there is no key 'schedule\.block'"):
        etprof.run_plan(content, device=scripted)


def test_an_option_that_the_device_does_not_know_is_refused(tmp_path: Path, scripted: str) -> None:
    with pytest.raises(UsageError, match="--prepare"):
        etprof.run_plan(a_plan_file(tmp_path), device=scripted, prepare=True)


def test_a_models_name_is_exported_first_and_its_folder_carries_the_precision(
    toy_cnn: Path, scripted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy_cnn, tmp_path / "out_toy_cnn" / "artifacts")
    heard: list[str] = []
    run = etprof.profile(
        "toy_cnn", device=scripted, blocks=1, max_blocks=1, progress=lambda _done, _total, text: heard.append(text)
    )
    assert run.folder == Path("out_toy_cnn/runs/linux_fp32")
    assert heard[0] == "exporting toy_cnn (fp32) to out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte"
    assert heard[1].endswith("so it is used as it is")
    with pytest.raises(etprof.EtprofError, match="There is no model called 'toy_cn'"):
        etprof.profile("toy_cn", device=scripted)
