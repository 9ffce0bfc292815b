"""What an assistant is answered about a run: short, with everything it may ask about further."""

import contextlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info
from etprof.app import peaks
from etprof.app.plans import QUICK_SCHEDULE
from etprof.app.profiling import RunOptions
from etprof.core.errors import DeviceError, UnknownNameError, UsageError
from etprof.devices.turns import host_turn
from etprof.mcp import answers
from etprof.mcp.workspace import Workspace
from etprof.reports import FORMATS
from etprof.store.peaks_file import save_peaks
from peaks_builder import some_peaks
from scripted_device import a_runnable_plan, run_scripted
from scripted_kind import add_scripted_kind

RUN = "runs/linux"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run of the scripted runner. Nothing here changes it."""
    folder = tmp_path_factory.mktemp("workspace")
    run_scripted(a_runnable_plan(folder, blocks=3))
    return folder.resolve()


@pytest.fixture
def workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(folder)
    return answers.open_workspace(folder)


def test_an_analysis_is_a_few_lines_with_all_that_can_be_explained(workspace: Workspace) -> None:
    found = answers.analyze_run(workspace, RUN)
    assert (found.run_dir, found.model, found.times_are_real) == (RUN, "model.pte", True)
    (verdict,) = found.verdicts
    assert verdict.startswith("on against off (1 thread): faster, speed-up 2.00x")
    assert [(line.label, line.blocks) for line in found.variants] == [("off, 1 thread", 3), ("on, 1 thread", 3)]
    for line in found.variants:
        assert line.median_ms is not None
        assert sum(line.categories.values()) == pytest.approx(1.0, abs=0.001)
        assert [kind.share for kind in line.kinds] == sorted((kind.share for kind in line.kinds), reverse=True)
        assert (line.kinds[0].kind, line.kinds[0].operators) == ("convolution", 1)
    (step,) = [step for step in found.next_steps if step.startswith("Remove transposes: at most ")]
    assert step.endswith(" Rule: transposes.")
    assert answers.explain(workspace, RUN, "transposes").startswith("transposes: Transposes\nLooks at: ")
    assert {"verdict", "next steps", "Convolution"} <= set(found.subjects)
    for subject in found.subjects:
        assert answers.explain(workspace, RUN, subject).strip()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_had_and_nothing_is_written(name: str, workspace: Workspace) -> None:
    before = sorted(workspace.root.rglob("*"))
    text = answers.render_report(workspace, RUN, name)
    assert {"json": '"experiment": "on"', "csv": "\non,1,latency,inference"}.get(name, "on, 1 thread") in text
    assert sorted(workspace.root.rglob("*")) == before


def test_an_unknown_format_or_subject_is_refused_with_the_known_ones(workspace: Workspace) -> None:
    with pytest.raises(UnknownNameError) as caught:
        answers.render_report(workspace, RUN, "pdf!")
    assert caught.value.hint == "Known formats: console, md, html, json, csv, trace, model-explorer."
    with pytest.raises(UnknownNameError) as near:
        answers.explain(workspace, RUN, "convolutoin")
    assert "'Convolution'" in near.value.hint


def test_a_workspace_is_an_existing_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        answers.open_workspace(tmp_path / "none")


def test_a_model_is_run_by_its_name_on_a_named_device_and_resumed(
    toy_cnn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy_cnn, tmp_path / "out_toy_cnn" / "artifacts")
    workspace, device = answers.open_workspace(tmp_path), add_scripted_kind(monkeypatch)
    schedule = replace(QUICK_SCHEDULE, blocks=1, max_blocks=1)

    def run(options: RunOptions) -> answers.Analysis:
        return answers.run(
            workspace, "toy_cnn", lambda *_: None, device=device, schedule=schedule, output_root="", options=options
        )

    assert run(RunOptions("test")).run_dir == "out_toy_cnn/runs/linux_fp32"
    several = answers.run(
        workspace, "toy_cnn", lambda *_: None, device=device, schedule=schedule, output_root="several",
        options=RunOptions("test"), threads=(1, 2),
    )  # fmt: skip
    assert len(several.variants) == 4
    assert any("the best thread count is inconclusive: 1 or 2 threads" in line for line in several.threads)
    assert "best thread count" in answers.explain(workspace, "several", "threads")
    assert run(RunOptions("test")).run_dir == "out_toy_cnn/runs/linux_fp32", "the earlier one is kept inside"
    assert run(RunOptions("test", resume=True)).variants[0].blocks == 1
    with pytest.raises(UsageError, match="There is no device 'moon'"):
        answers.run(
            workspace, "toy_cnn", lambda *_: None, device="moon", schedule=schedule, output_root="",
            options=RunOptions("test"),
        )  # fmt: skip


def test_a_run_is_refused_at_once_while_another_one_is_measuring(toy_cnn: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_cnn, tmp_path / "artifacts")
    with contextlib.chdir(tmp_path), host_turn(False, print):
        workspace = answers.open_workspace(tmp_path)
        with pytest.raises(DeviceError, match="Another run is measuring on this machine"):
            answers.run(
                workspace, "artifacts/toy_cnn_xnnpack_fp32.pte", lambda *_: None, device="local",
                schedule=QUICK_SCHEDULE, output_root="", options=RunOptions("test"),
            )  # fmt: skip
    assert not (tmp_path / "runs").exists()


def test_peaks_are_given_with_their_intervals(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path))
    save_peaks(peaks.cached_folder(a_device_info()), some_peaks())
    found = answers.measure_peaks(add_scripted_kind(monkeypatch), lambda *_: None, again=False)
    assert (found.device, found.cpu, found.checked) == ("this machine", "A CPU", [])
    assert found.peaks[0] == answers.PeakLine("sse_fp32", "", 1, "GMAC/s", 25.0, 25.0, 25.0)
    assert found.peaks[-1].unit == "GB/s"
    assert answers.analyze_run(workspace, RUN).roofline[0].startswith("Not known: ")
