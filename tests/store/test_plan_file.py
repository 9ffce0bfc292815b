"""Plans as users write them, and what they get back for their mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import PlanError, StoreError
from etprof.core.plan import Pair, Plan
from etprof.store.plan_file import build_plan, json_schema, load_plan


def a_file(**changes: Any) -> dict[str, Any]:
    return {
        "model": "out/model.pte",
        "output_root": "out/runs/mac",
        "experiments": [{"name": "sme2_off", "hide_isa": ["sme2"]}, {"name": "sme2_on"}],
        **changes,
    }


def with_experiment(**changes: Any) -> dict[str, Any]:
    return a_file(experiments=[{"name": "only", **changes}])


def build(value: Any) -> Plan:
    return build_plan(value, "plan.json")


def test_both_spellings_of_the_documents_mean_the_same() -> None:
    one = build(with_experiment(num_runs=7, num_threads=4)).experiments[0]
    other = build(with_experiment(runs=7, threads=[4])).experiments[0]
    assert one == other
    assert (one.runs, one.threads) == (7, (4,))


def test_a_variant_that_hides_features_is_the_baseline_of_the_one_that_hides_nothing() -> None:
    assert build(a_file()).pairs == (Pair(baseline="sme2_off", candidate="sme2_on"),)


def test_asked_for_pairs_are_taken_as_asked() -> None:
    pairs = [{"baseline": "sme2_on", "candidate": "sme2_off"}]
    assert build(a_file(analysis={"compare_pairs": pairs})).pairs == (Pair("sme2_on", "sme2_off"),)


def test_two_variants_that_hide_nothing_are_not_paired_by_guessing() -> None:
    assert build(a_file(experiments=[{"name": "a"}, {"name": "b"}])).pairs == ()


def test_a_warmup_is_a_number_or_a_range() -> None:
    assert build(with_experiment(warmup=5)).experiments[0].warmup.minimum == 5
    assert build(with_experiment(warmup={"min": 1, "max": 2})).experiments[0].warmup.maximum == 2


@pytest.mark.parametrize(
    ("written", "cores"),
    [([4, 5], (4, 5)), (3, (3,)), ("0xf0", (4, 5, 6, 7)), ("0,4-6", (0, 4, 5, 6)), ("7", (7,)), ([], ())],
)
def test_cores_can_be_written_in_many_ways(written: Any, cores: tuple[int, ...]) -> None:
    assert build(with_experiment(cpu_affinity=written)).experiments[0].cpu_affinity == cores


def test_a_cluster_is_left_to_the_device() -> None:
    experiment = build(with_experiment(cpu_affinity="big")).experiments[0]
    assert (experiment.cpu_cluster, experiment.cpu_affinity) == ("big", ())


@pytest.mark.parametrize("written", ["huge", "4-", "0xzz", "", "1,,2"])
def test_cores_that_mean_nothing_are_refused(written: str) -> None:
    with pytest.raises(PlanError, match="cpu_affinity"):
        build(with_experiment(cpu_affinity=written))


def test_without_max_blocks_the_schedule_has_just_its_blocks() -> None:
    assert build(a_file(schedule={"blocks": 9})).schedule.max_blocks == 9


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (a_file(expriments=[]), "there is no key 'expriments'", "Did you mean 'experiments'?"),
        (with_experiment(warmpu=1), "there is no key 'experiments[0].warmpu'", "Did you mean 'warmup'?"),
        (with_experiment(num_run=1), "there is no key 'experiments[0].num_run'", "'num_runs'"),
        (a_file(schedule={"block": 3}), "there is no key 'schedule.block'", "'blocks'"),
        (a_file(experiments=[]), "experiments is []", ""),
        (a_file(experiments=[{"name": "a"}, {"name": "a"}]), "two experiments are called 'a'", "name of its own"),
        (a_file(model="<path to your .pte>"), "model is still the placeholder", "real path"),
        (with_experiment(runner_path="/path/to/executor_runner"), "runner_path is still the placeholder", ""),
        (with_experiment(num_runs="ten"), "experiments[0].runs is 'ten'", ""),
        (with_experiment(threads=0), "experiments[0].threads is", ""),
        (with_experiment(name="../evil"), "experiments[0].name is '../evil'", ""),
        (with_experiment(mode="both"), "experiments[0].mode is 'both'", ""),
        (with_experiment(runs=1, num_runs=2), "has both 'num_runs' and 'runs'", "give one"),
        (a_file(schedule={"blocks": 5, "max_blocks": 2}), "max_blocks 2 is below blocks 5", ""),
        (a_file(schedule={"blocks": 2, "max_blocks": 5, "order": "sequential"}), "cannot add rounds", ""),
        ({"model": "a.pte", "experiments": [{"name": "a"}]}, "the key 'output_root' is missing", "templates"),
        ([], "the file is []", "templates"),
        (a_file(analysis={"compare_pairs": [{"baseline": "sme2_of", "candidate": "sme2_on"}]}),
         "names 'sme2_of', which is not an experiment", "'sme2_off'"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_key_and_the_nearest_right_one(value: Any, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        build(value)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_missing_or_broken_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no file"):
        load_plan(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text('{"model": ')
    with pytest.raises(StoreError, match="not valid JSON"):
        load_plan(broken)


CONFIGS = sorted(Path(__file__).parents[2].glob("model_profiling/configs/*/*.json"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_every_shipped_config_is_a_plan_or_waits_for_its_model_path(path: Path) -> None:
    value = json.loads(path.read_text())
    if path.parent.name == "templates":
        with pytest.raises(PlanError, match="placeholder"):
            load_plan(path)
        value["model"] = "model.pte"
    assert build_plan(value, path.name).experiments


def test_configs_for_every_platform_are_shipped() -> None:
    names = {path.name for path in CONFIGS}
    assert {"mac_template.json", "linux_template.json", "android_template.json"} <= names
    assert {"mac_mobilenet_fp16.json", "mac_trace.json", "linux_mobilenet_fp16.json"} <= names


def test_the_shipped_schema_is_the_one_the_code_makes() -> None:
    shipped = Path(__file__).parents[2] / "model_profiling/configs/plan.schema.json"
    assert json.loads(shipped.read_text()) == json.loads(json.dumps(json_schema()))
