"""Workload files: what they stand for, and what is wrong with one, under the name of its phase."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_plan, a_session
from etprof.core.errors import PlanError, StoreError
from etprof.core.plan import Plan
from etprof.core.workload import ARANGE, FILE, RANDOM, VALUE, Phase, PhaseInput, Workload
from etprof.store.plan_file import build_plan, load_plan, save_plan
from etprof.store.session_file import load_session, save_session
from etprof.store.workload_file import as_content, build_workload, json_schema, load_workload

IDS = {"random": [0, 31], "seed": 3, "shape": [1, 4]}
HALF = {"value": 0.5, "dtype": "float32"}
CONTENT: dict[str, Any] = {
    "$comment": "a decoder",
    "phases": [
        {"name": "prefill", "method": "prefill", "inputs": [IDS, {"arange": True, "shape": [4]}], "resets": True},
        {"name": "decode", "repeats": 8, "advance": 0, "inputs": [{"file": "ids.bin"}, HALF]},
    ],
}
WORKLOAD = Workload(
    (
        Phase(
            "prefill",
            "prefill",
            (PhaseInput(RANDOM, low=0, high=31, seed=3, shape=(1, 4)), PhaseInput(ARANGE, shape=(4,))),
            resets=True,
        ),
        Phase(
            "decode",
            inputs=(PhaseInput(FILE, file=Path("ids.bin")), PhaseInput(VALUE, value=0.5, dtype="float32")),
            repeats=8,
            advance=0,
        ),
    )
)
PLAN = {"model": "a.pte", "output_root": "out", "experiments": [{"name": "on"}]}


def test_a_file_stands_for_a_workload_and_back(tmp_path: Path) -> None:
    file = tmp_path / "decoder.json"
    file.write_text(json.dumps(CONTENT))
    assert load_workload(file) == WORKLOAD
    assert build_workload(as_content(WORKLOAD), "") == WORKLOAD


def test_a_plan_holds_a_workload_or_names_its_file(tmp_path: Path) -> None:
    file = tmp_path / "decoder.json"
    file.write_text(json.dumps(CONTENT))
    for given in (CONTENT, str(file)):
        assert build_plan({**PLAN, "workload": given}, "plan").program("on").workload == WORKLOAD
    own = {**PLAN, "experiments": [{"name": "on", "workload": CONTENT}, {"name": "off"}]}
    plan = build_plan(own, "plan")
    assert (plan.program("on").workload, plan.program("off").workload) == (WORKLOAD, None)


def test_a_plan_with_a_workload_is_written_and_read_back(tmp_path: Path) -> None:
    plan = build_plan({**PLAN, "workload": CONTENT, "experiments": [{"name": "on", "workload": CONTENT}]}, "plan")
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan


def test_a_session_with_a_workload_is_read_back_with_the_paths_of_its_files(tmp_path: Path) -> None:
    plan = Plan(**{**vars(a_plan(tmp_path / "run")), "workload": WORKLOAD})
    save_session(tmp_path / "run", a_session(plan))
    stored = load_session(tmp_path / "run")
    prefill, decode = WORKLOAD.phases
    ids = replace(decode.inputs[0], file=Path("ids.bin").absolute())
    assert stored.plan.workload == Workload((prefill, replace(decode, inputs=(ids, decode.inputs[1]))))
    assert stored.programs[0].program.workload == stored.plan.workload
    assert type(stored.plan.workload.phases[0].inputs[0].high) is int


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"phases": []}, "phases"),
        ({"phases": 5}, "phases is 5: it must be a list."),
        ({"phases": [{"name": "a"}], "stages": []}, "there is no key 'stages'."),
        ({"phases": [{}]}, "the key 'phases[0].name' is missing."),
        ({"phases": [{"name": "a"}, {"name": "a"}]}, "two phases are called 'a'"),
        ({"phases": [{"name": "a", "repeat": 2}]}, "there is no key 'phases[0].repeat' (a)."),
        ({"phases": [{"name": "a", "repeats": 0}]}, "phases[0].repeats (a) is 0"),
        ({"phases": [{"name": "a", "repeats": "2"}]}, "is '2': it must be a whole number, without quotes."),
        ({"phases": [{"name": "a", "repeats": 600_000}, {"name": "b", "repeats": 600_000}]}, "at most 1000000 steps"),
        ({"phases": [{"name": "a", "inputs": [{}]}]}, "phases[0].inputs[0] (a): it needs exactly one of file, value"),
        ({"phases": [{"name": "a", "inputs": [{"value": 1, "arange": True}]}]}, "exactly one of"),
        ({"phases": [{"name": "a", "inputs": [{"random": [2, 1]}]}]}, "random is [lowest, highest]"),
        ({"phases": [{"name": "a", "inputs": [{"random": [1]}]}]}, "phases[0].inputs[0].random (a)"),
        ({"phases": [{"name": "a", "inputs": [{"value": float("nan")}]}]}, "is not a finite number"),
        ({"phases": [{"name": "a", "inputs": [{"value": 1, "shape": [2**31 - 1] * 2}]}]}, "more elements"),
        ({"phases": [{"name": "a", "inputs": [{"value": 1, "shape": [0]}]}]}, "phases[0].inputs[0].shape[0] (a) is 0"),
        ({"phases": [{"name": "a", "advance": 2**40, "repeats": 9}, {"name": "b"}]}, "the position goes beyond"),
        ([], "the file"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_phase(change: Any, sentence: str) -> None:
    with pytest.raises(PlanError) as refused:
        build_workload(change, "decoder.json")
    assert sentence in refused.value.message
    assert refused.value.message.startswith("decoder.json: ")


def test_a_plan_names_the_experiment_whose_workload_is_wrong() -> None:
    wrong = {**PLAN, "experiments": [{"name": "on", "workload": {"phases": [{"name": "a", "repeats": 0}]}}]}
    with pytest.raises(PlanError, match=r"plan: experiments\[0\]\.workload: phases\[0\]\.repeats \(a\) is 0"):
        build_plan(wrong, "plan")


def test_a_workload_and_inputs_beside_it_are_refused() -> None:
    with pytest.raises(PlanError, match="the plan has a workload, and inputs or shapes beside it"):
        build_plan({**PLAN, "workload": CONTENT, "inputs": ["a.bin"]}, "plan")
    own = {"name": "on", "workload": CONTENT, "input_shapes": [[1]]}
    with pytest.raises(PlanError, match="the experiment 'on' has a workload"):
        build_plan({**PLAN, "experiments": [own]}, "plan")


def test_a_stored_session_whose_workload_no_file_could_hold_is_refused(tmp_path: Path) -> None:
    plan = Plan(**{**vars(a_plan(tmp_path / "run")), "workload": WORKLOAD})
    save_session(tmp_path / "run", a_session(plan))
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"repeats": 8', '"repeats": 800000000000'))
    with pytest.raises(StoreError, match="a workload has too many steps"):
        load_session(tmp_path / "run")


def test_every_shipped_workload_is_one() -> None:
    shipped = sorted((Path(__file__).parents[2] / "model_profiling/configs/workloads").glob("*.json"))
    assert [len(load_workload(path).phases) for path in shipped] == [2, 2, 2]


def test_the_shipped_schema_is_the_one_the_code_makes() -> None:
    shipped = Path(__file__).parents[2] / "model_profiling/configs/workload.schema.json"
    assert json.loads(shipped.read_text()) == json.loads(json.dumps(json_schema()))
