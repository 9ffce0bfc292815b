"""A guest stays in its folder: by no path, no link and no file that names another file does it get out."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from builders import an_export_meta
from etprof.core.errors import StoreError, UsageError
from etprof.core.model import TensorFile
from etprof.core.run import Session
from etprof.export.meta import save_meta
from etprof.mcp.workspace import Workspace
from etprof.store.session_file import load_session, save_session
from scripted_device import a_runnable_plan, run_scripted


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    monkeypatch.chdir(root)
    return Workspace(root.resolve())


@pytest.fixture
def run(workspace: Workspace) -> Path:
    plan = a_runnable_plan(workspace.root, blocks=1)
    run_scripted(plan)
    return plan.output_root


def test_paths_inside_are_given_back_relative(workspace: Workspace) -> None:
    assert workspace.inside("a/../b/c.pte") == Path("b/c.pte")
    assert workspace.inside(workspace.root / "x") == Path("x")
    assert workspace.inside(".") == Path()


@pytest.mark.parametrize("path", ["..", "../outside", "a/../../outside", "/", "/etc/passwd", "../workspace2", "a\0b"])
def test_paths_outside_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(UsageError, match=r"outside of the workspace|is not a path"):
        workspace.inside(path)


def test_a_link_is_followed_before_it_is_judged(workspace: Workspace) -> None:
    (workspace.root / "out").symlink_to(workspace.root.parent / "outside")
    (workspace.root / "real").mkdir()
    (workspace.root / "in").symlink_to(workspace.root / "real")
    (workspace.root / "loop").symlink_to("loop")
    assert workspace.inside("in/x") == Path("real/x")
    for path in ("out", "out/x"):
        with pytest.raises(UsageError, match="outside of the workspace"):
            workspace.inside(path)
    with pytest.raises(UsageError, match="is not a path"):
        workspace.inside("loop/x")


def test_a_workload_and_the_files_it_names_lie_inside(workspace: Workspace) -> None:
    file = workspace.root / "decode.json"
    for path, is_inside in (("ids.bin", True), ("../outside/ids.bin", False), ("/etc/passwd", False)):
        file.write_text(json.dumps({"phases": [{"name": "decode", "inputs": [{"file": path}]}]}))
        if is_inside:
            assert workspace.load_workload("decode.json").files == (Path(path),)
            continue
        with pytest.raises(UsageError, match="outside of the workspace"):
            workspace.load_workload("decode.json")
    with pytest.raises(UsageError, match="outside of the workspace"):
        workspace.load_workload("../decode.json")


def test_a_whole_run_is_let_through(workspace: Workspace, run: Path) -> None:
    folder, session = workspace.load_session("runs/linux")
    assert folder == Path("runs/linux")
    assert len(session.results) == 2
    with pytest.raises(UsageError, match="There is no folder none"):
        workspace.load_session("none")


def test_a_run_whose_files_lead_out_is_refused(workspace: Workspace, run: Path) -> None:
    session = load_session(run)
    first, *others = session.results
    save_session(run, replace(session, results=(replace(first, etdump="../../../outside/x.etdump"), *others)))
    with pytest.raises(StoreError, match="leads out of the folder"):
        workspace.load_session("runs/linux")


@pytest.mark.parametrize("name", ["manifest.json", "metrics.json", "on/on_t1.etdump"])
def test_a_run_with_a_link_that_leads_out_is_refused(workspace: Workspace, run: Path, name: str) -> None:
    moved = workspace.root.parent / "outside" / Path(name).name
    (run / name).rename(moved)
    (run / name).symlink_to(moved)
    with pytest.raises(UsageError, match="outside of the workspace"):
        workspace.load_session("runs/linux")


def of_model(session: Session, model: Path) -> Session:
    (record,) = session.programs
    return replace(session, programs=(replace(record, program=replace(record.program, model=model)),))


def test_a_models_graph_outside_is_not_read(workspace: Workspace, run: Path) -> None:
    outside = workspace.root.parent / "outside"
    (outside / "model.graph.json").write_text("{}")
    save_session(run, of_model(load_session(run), outside / "model.pte"))
    with pytest.raises(UsageError, match=r"graph\.json lies outside"):
        workspace.load_session("runs/linux")


def test_a_model_outside_is_not_read_for_its_graph(workspace: Workspace, run: Path) -> None:
    outside = workspace.root.parent / "outside"
    (outside / "model.pte").write_bytes(b"secret")
    save_session(run, of_model(load_session(run), outside / "model.pte"))
    with pytest.raises(UsageError, match=r"model\.pte lies outside"):
        workspace.load_session("runs/linux")


@pytest.mark.parametrize("files", ["inputs", "reference"])
def test_a_model_whose_files_lead_out_is_refused(workspace: Workspace, files: str) -> None:
    (workspace.root / "m.pte").write_bytes(b"model")
    assert workspace.model_file("m.pte") == Path("m.pte")
    outside = (TensorFile(shape=(1,), dtype="float32", file="../outside/secret", sha256=""),)
    save_meta(workspace.root / "m.pte", an_export_meta(**{files: outside}))
    with pytest.raises(UsageError, match="secret lies outside"):
        workspace.model_file("m.pte")
    with pytest.raises(UsageError, match=r"There is no model none\.pte"):
        workspace.model_file("none.pte")


def test_nothing_is_written_through_a_link_that_leads_out(workspace: Workspace) -> None:
    target = workspace.root / "new" / "variant"
    target.parent.mkdir()
    assert workspace.target_folder("new") == Path("new")
    assert workspace.target_folder("not/there/yet") == Path("not/there/yet")
    target.symlink_to(workspace.root.parent / "outside")
    with pytest.raises(UsageError, match="outside of the workspace"):
        workspace.target_folder("new")


def test_an_earlier_run_of_the_folder_does_not_lead_out_either(workspace: Workspace, run: Path) -> None:
    run_scripted(a_runnable_plan(workspace.root, blocks=1))
    (earlier,) = (run / "earlier").iterdir()
    assert workspace.load_session("runs/linux")
    save_session(earlier, of_model(load_session(earlier), workspace.root.parent / "outside/m.pte"))
    (workspace.root.parent / "outside/m.graph.json").write_text("{}")
    with pytest.raises(UsageError, match="outside of the workspace"):
        workspace.load_session("runs/linux")
