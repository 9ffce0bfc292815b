"""Models that plans name and that are not exported yet: exported once, by a worker, whatever fails beside it."""

import subprocess
import textwrap
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.app.fleet.asked_plans import NamedExports, read_plans
from etprof.app.fleet.exports import build_export_parcel, find_exported
from etprof.app.fleet.runs import FleetOutcome, FleetRequest, list_devices, run_fleet
from etprof.app.fleet.words import FleetWords
from etprof.app.runs import validate_run
from etprof.core.errors import DeviceError, UsageError
from etprof.core.layout import FLEET, etrecord_path, graph_path
from etprof.export.meta import load_meta
from etprof.export.request import ExportRequest
from etprof.store.plan_file import save_plan
from etprof.store.session_file import load_session
from fleet_etprof import TestFleet, wait_until
from parts import need
from scripted_device import a_runnable_plan

SCRIPT = str(Path(__file__).parents[2] / "fleet_etprof.py")
TINY = """
    class Model(EagerModelBase):
        def get_eager_model(self):
            return nn.Linear(4, 4)

        def get_example_inputs(self):
            return (torch.randn(1, 4),)
"""
BROKEN = TINY.replace("nn.Linear(4, 4)", "1 / 0")


def write_model(models: Path, name: str, body: str) -> None:
    (models / name).mkdir(parents=True, exist_ok=True)
    imports = "import torch\nfrom torch import nn\nfrom etprof.core.model import EagerModelBase\n"
    text = f"{imports}from etprof.export.registry import register_model\n{textwrap.dedent(body)}\n"
    (models / name / "model.py").write_text(f"{text}\nregister_model({name!r}, Model)\n")


def write_plan(folder: Path, model: str) -> Path:
    """A plan of two variants, of a model by its name."""
    plan = a_runnable_plan(folder, blocks=2)
    path = folder / "plan.json"
    save_plan(path, replace(plan, model=Path(model), inputs=()))
    return path


def start_exporter(fleet: TestFleet) -> "subprocess.Popen[bytes]":
    common = ("--scheduler", fleet.address, "--spool", str(fleet.spool))
    return fleet.start_etprof(SCRIPT, "fleet", "worker", *common, "--exports", offers=1)


def run(fleet: TestFleet, out: Path, plans: list[Path], models: Path, told: list[str]) -> FleetOutcome:
    request = FleetRequest(out, fleet.address, command="test", named=NamedExports(models_dir=models))
    return run_fleet(plans, request, FleetWords(told.append))


@pytest.mark.alone
@pytest.mark.exhaustive
def test_a_model_is_exported_once_and_one_that_fails_is_a_row(fleet: TestFleet, tmp_path: Path) -> None:
    need(find_spec("executorch"), "executorch is not installed")
    models, out, told = tmp_path / "models", tmp_path / "out", list[str]()
    write_model(models, "tiny", TINY)
    write_model(models, "broken", BROKEN)
    fleet.start_worker("scripted:phone")
    plans = [Path("tiny"), write_plan(tmp_path, "tiny"), Path("broken")]
    with pytest.raises(DeviceError, match="tiny has to be exported, and no worker with this version of etprof exports"):
        run(fleet, out, plans, models, told)
    assert not (out / FLEET).exists()

    start_exporter(fleet)
    (exporter,) = list_devices(fleet.address, exports=True)
    assert [device.name for device in list_devices(fleet.address)] == ["scripted:phone"]
    assert "torch" in exporter.facts
    outcome = run(fleet, out, plans, models, told)
    (missing,) = [result for result in outcome.results if not result.has_arrived]
    assert (missing.job.plan_name, missing.device) == ("broken_xnnpack_fp32", "scripted:phone")
    assert missing.reason.startswith("export of broken_xnnpack_fp32: ")
    assert "division by zero" in missing.reason
    assert len(outcome.folders) == 2
    assert sum(text.endswith(": arrived") and text.startswith("export of tiny") for text in told) == 1
    model = find_exported(out, ExportRequest("tiny"))
    for folder in outcome.folders:
        assert validate_run(folder, deep=True) == []
        assert load_session(folder).plan.model == model
    assert etrecord_path(model).is_file()
    assert graph_path(model).is_file()

    # A worker keeps what it made for who asks for the same.
    other = run(fleet, tmp_path / "other", [Path("tiny")], models, told)
    assert other.is_complete
    assert load_meta(find_exported(tmp_path / "other", ExportRequest("tiny"))) == load_meta(model)


@pytest.mark.alone
@pytest.mark.exhaustive
def test_an_export_is_made_when_its_worker_was_killed_and_started_again(fleet: TestFleet, tmp_path: Path) -> None:
    need(find_spec("executorch"), "executorch is not installed")
    begun, may_end = tmp_path / "begun", tmp_path / "may_end"
    waits = f"import pathlib, time\n\npathlib.Path({str(begun)!r}).touch()\n"
    waits += f"while not pathlib.Path({str(may_end)!r}).exists():\n    time.sleep(0.05)\n"
    write_model(tmp_path / "models", "tiny", waits + textwrap.dedent(TINY))
    fleet.start_worker("scripted:phone")
    first = start_exporter(fleet)
    process = fleet.run("tiny", "--models-dir", tmp_path / "models", "--out", tmp_path / "out", "--wait")
    wait_until(begun.exists, "the export has begun")
    first.kill()
    may_end.touch()
    start_exporter(fleet)
    said, _ = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert "export of tiny_xnnpack_fp32 on exports@" in said
    assert "1 run of 1 arrived" in said


def test_the_users_models_are_sent_and_shipped_ones_are_not(tmp_path: Path) -> None:
    write_model(tmp_path / "mine", "tiny", TINY)
    cache = tmp_path / "mine" / "tiny" / "__pycache__"
    cache.mkdir()
    (cache / "model.pyc").write_text("x")
    parcel = build_export_parcel(ExportRequest("tiny", models_dir=tmp_path / "mine"))
    assert [file.place for file in parcel.files] == ["model_profiling/models/tiny/model.py"]
    assert parcel.work.models_dir is None
    assert parcel.sources == {parcel.files[0].sha256: tmp_path / "mine" / "tiny" / "model.py"}
    assert build_export_parcel(ExportRequest("toy_cnn", models_dir=tmp_path / "mine")).files == ()


def test_the_same_export_has_the_same_name_everywhere(tmp_path: Path) -> None:
    ids = []
    for number, body in enumerate((TINY, TINY, BROKEN)):
        write_model(tmp_path / f"{number}", "tiny", body)
        ids.append(build_export_parcel(ExportRequest("tiny", models_dir=tmp_path / f"{number}")).id)
    assert ids[0] == ids[1] != ids[2]
    assert build_export_parcel(ExportRequest("tiny", dtype="fp16", models_dir=tmp_path / "0")).id != ids[0]


def test_names_and_paths_of_one_model_are_one_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = Path("out_toy_cnn/artifacts/toy_cnn_xnnpack_fp16.pte")
    asked = read_plans([Path("toy_cnn"), written, write_plan(tmp_path, "toy_cnn")], NamedExports(dtype="fp16"))
    assert [each.name for each in asked] == ["toy_cnn_xnnpack_fp16", "toy_cnn_xnnpack_fp16-2", "plan"]
    assert {request for each in asked for request in each.exports.values()} == {ExportRequest("toy_cnn", dtype="fp16")}
    assert len({each.digest for each in asked}) == 3


def test_options_of_an_export_without_a_name_are_refused(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path)
    save_plan(tmp_path / "plan.json", plan)
    with pytest.raises(UsageError, match="are for names of models"):
        read_plans([tmp_path / "plan.json"], NamedExports(quantize=True))


def test_a_plan_can_be_called_like_the_folder_of_exports(tmp_path: Path) -> None:
    save_plan(tmp_path / "exports.json", a_runnable_plan(tmp_path))
    (asked,) = read_plans([tmp_path / "exports.json"], NamedExports())
    assert asked.name == "exports-2"
