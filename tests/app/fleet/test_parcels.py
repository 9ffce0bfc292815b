"""What a plan needs elsewhere: its files with those that belong to them, and its paths there and back."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_session
from etprof.app.fleet.parcels import build_parcel
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from scripted_device import a_runnable_plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return a_runnable_plan(tmp_path)


def test_a_model_goes_with_what_its_export_wrote_beside_it(plan: Plan) -> None:
    for name in ("model.graph.json", "model.input_0.bin", "model.pte.etrecord", "model.export.log", "model2.pte"):
        (plan.model.parent / name).write_text("x")
    names = [Path(file.place).name for file in build_parcel(plan).files]
    assert names == ["input_0.bin", "model.graph.json", "model.input_0.bin", "model.pte"]


def test_two_models_of_one_name_do_not_collide(plan: Plan, tmp_path: Path) -> None:
    other = tmp_path / "other" / "model.pte"
    other.parent.mkdir()
    other.write_bytes(b"another")
    off, on = plan.experiments
    parcel = build_parcel(replace(plan, experiments=(off, replace(on, model=other))))
    models = {file.place: file.sha256 for file in parcel.files if file.place.endswith(".pte")}
    assert len(models) == len(set(models.values())) == 2
    assert parcel.plan.experiments[1].model != parcel.plan.model


def test_a_runner_goes_with_its_libraries_and_can_be_executed(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("runner", "libone.so.1"):
        (tmp_path / "bin" / name).write_text(name)
    off, on = plan.experiments
    parcel = build_parcel(replace(plan, experiments=(off, replace(on, runner_path=tmp_path / "bin" / "runner"))))
    sent = {Path(file.place).name: file.is_program for file in parcel.files}
    assert sent == {"input_0.bin": False, "libone.so.1": False, "model.pte": False, "runner": True}


def test_a_session_comes_back_with_the_paths_of_this_machine(plan: Plan, tmp_path: Path) -> None:
    parcel = build_parcel(plan, tmp_path / "plan.json")
    there = tmp_path / "there"
    session = a_session(replace(parcel.plan, model=there / parcel.plan.model, inputs=(there / parcel.plan.inputs[0],)))
    home = parcel.bring_home(session, there, tmp_path / "runs")
    assert (home.plan.model, home.plan.inputs) == (plan.model, plan.inputs)
    assert (home.plan.output_root, home.plan_path) == (tmp_path / "runs", tmp_path / "plan.json")


def test_the_digest_is_of_the_plan_and_of_the_bytes(plan: Plan) -> None:
    before = build_parcel(plan).digest
    assert build_parcel(plan).digest == before
    assert build_parcel(replace(plan, schedule=replace(plan.schedule, blocks=5))).digest != before
    plan.model.write_bytes(plan.model.read_bytes() + b"\0")
    assert build_parcel(plan).digest != before


def test_a_file_that_is_not_there_is_named(plan: Plan) -> None:
    plan.model.unlink()
    with pytest.raises(UsageError, match=r"There is no model .*model\.pte"):
        build_parcel(plan)
