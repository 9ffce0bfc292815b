"""A link that is swapped in after a path was checked leads nowhere: neither to be read nor to be written."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from etprof.app.runs import build_run
from etprof.core.errors import EtprofError, StoreError, TraceError, UsageError
from etprof.core.run import DeviceInfo, Job, JobOutcome
from etprof.devices.base import Device
from etprof.mcp import answers
from etprof.mcp.server import build_server
from etprof.mcp.workspace import Workspace
from etprof.store.json_file import write_text
from history_builder import STEADY, add_days
from hostile_folders import snapshot
from scripted_device import a_runnable_plan, run_scripted, scripted_device

SECRET_MS = 777.0


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "private").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "private"))
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(root)
    return Workspace(root.resolve())


@pytest.fixture
def run(workspace: Workspace) -> Path:
    plan = a_runnable_plan(workspace.root, blocks=1)
    run_scripted(plan)
    return plan.output_root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Another run, which nobody may read from the workspace."""
    folder = tmp_path / "outside"
    folder.mkdir()
    plan = a_runnable_plan(folder, blocks=1)
    run_scripted(plan, scripted_device(lambda _: SECRET_MS))
    return plan.output_root


def swap(folder: Path, target: Path) -> None:
    folder.rename(folder.with_name(f"{folder.name}.real"))
    folder.symlink_to(target)


@pytest.mark.parametrize("name", ["on", "../linux"])
def test_what_was_checked_and_then_swapped_for_a_link_is_not_read(
    workspace: Workspace, run: Path, outside: Path, name: str
) -> None:
    with workspace.confined():
        folder, session = workspace.load_session("runs/linux")
        swap((run / name).resolve(), (outside / name).resolve())
        with pytest.raises(TraceError, match="outside of the workspace"):
            build_run(folder, session)
    assert build_run(folder, session), "it would have been read"


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[None]:
    """Another program puts a link in the place of a folder and the folder back, as fast as it can."""
    over = threading.Event()
    real, link = folder.with_name(f"{folder.name}.real"), folder.with_name(f"{folder.name}.link")
    link.symlink_to(target)

    def go_on() -> None:
        while not over.is_set():
            folder.rename(real)
            link.rename(folder)
            folder.rename(link)
            real.rename(folder)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_nothing_of_another_run_is_in_any_answer(workspace: Workspace, run: Path, outside: Path) -> None:
    answered = refused = 0
    with swapping(run, outside):
        for _ in range(40):
            try:
                said = str(answers.analyze_run(workspace, "runs/linux"))
                answered += 1
                assert "777" not in said
            except EtprofError:
                refused += 1
    assert answered + refused == 40


@dataclass(frozen=True)
class SwappingDevice:
    """Puts a link in the place of the folder that its results go to, after that was checked."""

    device: Device
    folder: Path
    target: Path

    @property
    def platform(self) -> str:
        return "linux"

    def describe(self) -> DeviceInfo:
        return self.device.describe()

    def run(self, job: Job) -> JobOutcome:
        if not self.folder.is_symlink():
            swap(self.folder, self.target)
        return self.device.run(job)


def test_nothing_is_written_through_a_link_that_was_swapped_in(workspace: Workspace, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "off_t1.log").write_text("mine")
    before = snapshot(victim)
    plan = a_runnable_plan(workspace.root, blocks=1)
    device = SwappingDevice(scripted_device(), plan.output_root / "off", victim)
    with workspace.confined(), pytest.raises(StoreError, match="outside of the workspace"):
        run_scripted(plan, device)
    assert snapshot(victim) == before
    with workspace.confined(), pytest.raises(StoreError, match="outside of the workspace"):
        write_text(plan.output_root / "off" / "report.md", "text")
    assert snapshot(victim) == before


def test_a_confined_run_leaves_the_same_files(workspace: Workspace, run: Path) -> None:
    free = sorted(path.relative_to(run) for path in run.rglob("*"))
    shutil.rmtree(run)
    with workspace.confined():
        run_scripted(a_runnable_plan(workspace.root, blocks=1))
    assert sorted(path.relative_to(run) for path in run.rglob("*")) == free
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_the_tools_that_read_write_nothing(workspace: Workspace, run: Path) -> None:
    before = snapshot(workspace.root)
    answers.analyze_run(workspace, "runs/linux")
    answers.render_report(workspace, "runs/linux", "html")
    answers.explain(workspace, "runs/linux", "verdict")
    answers.list_known_models(workspace)
    assert snapshot(workspace.root) == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"blocks": 1001},
        {"max_blocks": 10**9},
        {"budget": "99999h"},
        {"threads": ",".join(map(str, range(1, 100)))},
        {"threads": "100000"},
    ],
    ids=" ".join,
)
def test_counts_have_upper_bounds(workspace: Workspace, arguments: dict[str, object]) -> None:
    server = build_server(workspace, allow_run=True)
    with pytest.raises(ToolError, match=r"less than or equal to 1000|At most"):
        anyio.run(server.call_tool, "run", {"model": "none.pte", **arguments})


def test_a_history_is_read_as_it_was_checked_and_answers_are_short(workspace: Workspace, tmp_path: Path) -> None:
    """A database is opened by its name, so a copy is opened that nobody can replace."""
    pytest.importorskip("duckdb")
    pytest.importorskip("ruptures")
    add_days(workspace.root / "h.duckdb", STEADY)
    before = snapshot(workspace.root)
    assert '"count' in answers.describe_history(workspace, "h.duckdb", "", "select count(*) from runs")
    assert answers.describe_history(workspace, "h.duckdb", "", "")
    with pytest.raises(UsageError, match="more than 1000 rows"):
        answers.describe_history(workspace, "h.duckdb", "", "select * from range(100000)")
    assert snapshot(workspace.root) == before
    (workspace.root / "h.duckdb").rename(tmp_path / "h.duckdb")
    (workspace.root / "h.duckdb").symlink_to(tmp_path / "h.duckdb")
    with pytest.raises(UsageError, match="outside of the workspace"):
        answers.describe_history(workspace, "h.duckdb", "", "")
