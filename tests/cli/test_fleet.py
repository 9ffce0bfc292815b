"""`etprof fleet` as a user types it, and the same from Python; what is wrong is said before anything is begun."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import etprof
from conftest import run_etprof
from etprof.store.plan_file import save_plan
from fleet_etprof import TestFleet, running_fleet
from parts import need
from scripted_device import a_runnable_plan


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[TestFleet]:
    need(find_spec("distributed"), "distributed is not installed")
    with running_fleet(tmp_path / "fleet") as running:
        yield running


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    save_plan(tmp_path / "plan.json", a_runnable_plan(tmp_path, blocks=3))
    return tmp_path / "plan.json"


@pytest.mark.alone
@pytest.mark.exhaustive
def test_devices_are_listed_and_plans_run_from_the_command_line_and_from_python(
    fleet: TestFleet, plan: Path, tmp_path: Path
) -> None:
    fleet.start_worker("scripted:phone", "scripted:tablet=2", "broken:board")
    at = ("--scheduler", fleet.address)
    if find_spec("executorch"):
        fleet.start_etprof("-m", "etprof", "fleet", "worker", "--exports", "--spool", str(fleet.spool), *at, offers=1)
        assert "exports models (torch " in " ".join(run_etprof("fleet", "devices", *at).split())
    said = run_etprof("fleet", "devices", "--on", "chip-phone", *at)
    assert "scripted:phone" in said
    assert "tablet" not in said
    listed = json.loads(run_etprof("fleet", "devices", "--json", *at))
    assert [device["device"] for device in listed] == ["broken:board", "scripted:phone", "scripted:tablet=2"]
    assert listed[1]["etprof"] == etprof.__version__

    out = tmp_path / "out"
    said = run_etprof("fleet", "run", str(plan), "--out", str(out), *at, expect=1)
    assert "plan on scripted:phone: block 1 of 6" in said
    assert "broken:board is set aside: it failed 3 times in a row" in said
    assert "2 runs of 3 arrived" in said
    assert "avx512 makes it faster on 2 of 2 devices" in said
    assert (out / "combined_report.html").exists()

    told: list[str] = []
    python = etprof.Fleet(fleet.address)
    assert [row["device"] for row in python.devices("scripted")] == ["scripted:phone", "scripted:tablet=2"]
    gathered = python.run(plan, on="scripted", out=tmp_path / "again", progress=told.append)
    assert [run.folder.name for run in gathered.runs] == ["scripted_phone", "scripted_tablet_2"]
    assert len(gathered.missing) == 0
    assert {row["device"]: round(float(str(row["speedup"]))) for row in gathered.gains} == {
        "scripted:phone": 2, "scripted:tablet": 2,
    }  # fmt: skip
    assert gathered.page == tmp_path / "again" / "combined_report.html"
    assert told[-1].endswith("arrived")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "absent.json"), "absent.json"),
        (("run", "toy_cnn", "--dtype", "int8"), "There is no dtype called 'int8'"),
        (("run", "toy_cnn", "--models-dir", "absent"), "There is no models folder absent"),
        (("run", "{plan}", "--quantize"), "are for names of models"),
        (("run", "{plan}", "--on", "sme2 and"), "a label is missing at its end"),
        (("run", "{plan}", "{plan}"), "is named twice"),
        (("run", "{plan}", "--resume", "--out", "absent"), "holds no runs of a fleet"),
        (("run", "{plan}", "--each", "--any"), "mutually exclusive"),
        (("run", "{plan}", "--scheduler", "tcp://10.0.0.1:1"), "is not on this machine"),
        (("worker", "--scheduler", "127.0.0.1:1"), "A worker needs a device"),
        (("worker", "--device", "moon"), "There is no device 'moon'"),
        (("worker", "--device", "local", "--device", "local"), "is named twice"),
        (("worker", "--device", "local", "--device-folder", "/x"), "--device-folder is for"),
        (("up", "--scheduler", "0.0.0.0:1"), "is not on this machine"),
        (("devices", "--scheduler", "ucx://127.0.0.1:1"), "is not an address of a fleet"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    plan: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    need(find_spec("distributed"), "distributed is not installed")
    from etprof.cli.main import main

    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert main(["fleet", *(word.format(plan=plan) for word in arguments)]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("fleet_*"))
