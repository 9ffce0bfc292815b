"""The tools of a fleet: on a real scheduler, which an assistant cannot choose."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.errors import DeviceError
from etprof.mcp import fleet_answers
from etprof.mcp.server import build_server
from etprof.mcp.workspace import Workspace
from fleet_etprof import TestFleet, running_fleet
from parts import need
from program_builder import build_program


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root = (tmp_path / "workspace").resolve()
    root.mkdir()
    monkeypatch.chdir(root)
    return Workspace(root)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestFleet]:
    need(find_spec("distributed"), "distributed is not installed")
    import dask

    with running_fleet(tmp_path / "fleet") as running, dask.config.set({"scheduler-address": running.address}):
        yield running


def test_an_assistant_cannot_name_a_scheduler(workspace: Workspace) -> None:
    import anyio

    tools = {tool.name: tool for tool in anyio.run(build_server(workspace, allow_run=False).list_tools)}
    for name in ("fleet_devices", "fleet_run"):
        assert "scheduler" not in tools[name].input_schema["properties"]


@pytest.mark.alone
@pytest.mark.exhaustive
def test_a_model_is_profiled_on_each_device(workspace: Workspace, fleet: TestFleet) -> None:
    fleet.start_worker("scripted:phone", "scripted:tablet")
    (workspace.root / "model.pte").write_bytes(build_program())
    told: list[str] = []
    offered = fleet_answers.offered("chip-phone or chip-tablet")
    assert [device.device for device in offered.devices] == ["scripted:phone", "scripted:tablet"]
    gathered = fleet_answers.gather(
        workspace, "model.pte", lambda _done, _total, text: told.append(text), on="", repeat=1, out="out"
    )
    assert gathered.missing == []
    assert gathered.run_dirs == ["out/model/scripted_phone", "out/model/scripted_tablet"]
    assert "on 2 of 2 devices" in gathered.gains[0]
    assert gathered.page == "out/combined_report.html"
    assert told[-1].endswith(": arrived")
    # A name is for a worker that exports, which is not there.
    with pytest.raises(DeviceError, match="toy_cnn has to be exported"):
        fleet_answers.gather(workspace, "toy_cnn", lambda *_: None, on="", repeat=1, out="other")
