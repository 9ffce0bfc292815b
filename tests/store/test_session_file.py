"""Sessions on disk: a round trip loses nothing, and foreign files are refused in words."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_device_info, a_plan, a_result, a_session
from etprof.core.errors import StoreError
from etprof.core.run import CpuState, CpuTime, OutputTensor, ThreadTime
from etprof.store.emulated_traces import was_emulated
from etprof.store.session_file import find_runs_beside, load_session, save_reports, save_session


def test_a_session_reads_back_as_it_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "out_m" / "runs" / "linux"
    plan = replace(
        a_plan(folder), model=tmp_path / "out_m/artifacts/m.pte", inputs=(tmp_path / "out_m/artifacts/i.bin",)
    )
    result = a_result(
        outputs=(OutputTensor("float32", (1, 10), "ab", "on/on_t1.outputs/output_0.bin"),),
        cpu_before=CpuState({4: 1000}, 0.5, 40.0),
        cpu_time=CpuTime(9, 8, (ThreadTime(5, 1, 4, 5), ThreadTime(3))),
        retried=("hot",),
    )
    session = a_session(plan, (result,), notes=("a note",))
    save_session(folder, session)
    assert load_session(folder) == session


def test_paths_are_relative_so_that_the_folder_can_be_moved(tmp_path: Path) -> None:
    folder = tmp_path / "here" / "runs" / "linux"
    save_session(folder, a_session(replace(a_plan(folder), model=tmp_path / "here/artifacts/m.pte")))
    assert str(tmp_path) not in (folder / "manifest.json").read_text()
    shutil.move(tmp_path / "here", tmp_path / "there")
    assert load_session(tmp_path / "there/runs/linux").plan.model == tmp_path / "there/artifacts/m.pte"


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    save_session(tmp_path, a_session(a_plan(tmp_path)))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "schema_version": 99}))
    with pytest.raises(StoreError, match="schema version 99"):
        load_session(tmp_path)


def test_a_damaged_session_names_the_field(tmp_path: Path) -> None:
    save_session(tmp_path, a_session(a_plan(tmp_path)))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["programs"][0]["model_sha256"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="model_sha256"):
        load_session(tmp_path)


def test_an_empty_folder_says_what_to_give_instead(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        load_session(tmp_path)
    assert "manifest.json" in caught.value.hint


def test_a_folder_of_the_older_format_is_read_by_its_traces(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"model": "m.pte", "results": []}))
    for name in ("mac_sme2_on_t1", "mac_sme2_on_t4"):
        (tmp_path / "mac_sme2_on").mkdir(exist_ok=True)
        (tmp_path / "mac_sme2_on" / f"{name}.etdump").write_bytes(b"x")
    session = load_session(tmp_path)
    assert session.is_older
    assert [(r.experiment, r.threads, r.etdump) for r in session.results] == [
        ("mac_sme2_on", 1, "mac_sme2_on/mac_sme2_on_t1.etdump"),
        ("mac_sme2_on", 4, "mac_sme2_on/mac_sme2_on_t4.etdump"),
    ]
    assert session.plan.pairs == ()


def test_only_the_nearest_manifest_makes_a_trace_emulated(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "emulated"
    save_session(run, a_session(a_plan(run), device=a_device_info(times_are_real=False)))
    assert was_emulated(run / "on" / "on_t1.etdump")
    assert was_emulated(run / "bare.etdump")
    assert not was_emulated(tmp_path / "bare.etdump")
    assert was_emulated(tmp_path / "bare.etdump", run / "on" / "on_t1.etdump")
    for content in ("not ours", '["neither"]', '{"device": "nor this"}'):
        (tmp_path / "manifest.json").write_text(content)
        assert not was_emulated(tmp_path / "bare.etdump")
    (run / "on").mkdir()
    save_session(run / "on", a_session(a_plan(run / "on")))
    assert not was_emulated(run / "on" / "on_t1.etdump"), "the folder it lies in says otherwise"


def test_the_reports_that_were_written_are_noted_and_what_was_measured_is_not_touched(tmp_path: Path) -> None:
    session = a_session(a_plan(tmp_path), (a_result(),))
    save_session(tmp_path, session)
    (tmp_path / "metrics.json").chmod(0o444)
    before = describe_file(tmp_path / "metrics.json")
    noted = save_reports(tmp_path, session, ("report.md",))
    assert noted.reports == load_session(tmp_path).reports == ("report.md",)
    assert describe_file(tmp_path / "metrics.json") == before
    assert save_reports(tmp_path, noted, ("report.md",)) is noted


def describe_file(path: Path) -> tuple[int, ...]:
    """All that tells whether it was written; when it was last read does not."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode


def test_a_folder_that_is_not_there_is_answered_with_the_runs_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "linux"
    save_session(folder, a_session(a_plan(folder)))
    assert find_runs_beside(tmp_path / "runs" / "mac") == f"Runs beside it: {folder}."
    assert find_runs_beside(tmp_path / "elsewhere" / "mac") == ""


def test_a_folder_near_a_run_is_answered_with_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "out_toy" / "runs" / "linux"
    save_session(folder, a_session(a_plan(folder)))
    (folder / "on").mkdir()
    for given, said in ((tmp_path / "out_toy", "Runs below it"), (folder / "on", "It lies in the run")):
        with pytest.raises(StoreError, match="There is no file") as caught:
            load_session(given)
        assert caught.value.hint == f"{said}{':' if 'below' in said else ''} {folder}."


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"experiments": ["off"]}, "not each of its experiments has one program"),
        ({"experiments": ["off", "on", "on"]}, "not each of its experiments has one program"),
        ({"program": {"model": "x" * 300}}, "a program has a path that no file can have"),
        ({"program": {"model": "m.pte", "runtime": "tflite"}}, "'tflite' is no runtime"),
        (
            {"reference": [{"dtype": "float32", "shape": [1], "sha256": "", "file": "../../secret"}]},
            "the path '../../secret' leads out of the folder",
        ),
    ],
)
def test_programs_that_no_run_could_have_left_are_refused(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    save_session(tmp_path, a_session(a_plan(tmp_path)))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["programs"][0] |= changes
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="does not hold a session of etprof") as caught:
        load_session(tmp_path)
    assert problem in caught.value.message


def test_paths_of_every_program_lead_from_the_folder_wherever_it_is_moved(tmp_path: Path) -> None:
    plan = a_plan(tmp_path / "runs/here")
    own = replace(plan.experiments[0], model=tmp_path / "own.pte", inputs=(tmp_path / "own.bin",))
    session = a_session(replace(plan, experiments=(own, plan.experiments[1])))
    save_session(tmp_path / "runs/here", session)
    assert load_session(tmp_path / "runs/here") == session
    text = (tmp_path / "runs/here/manifest.json").read_text()
    assert str(tmp_path) not in text
