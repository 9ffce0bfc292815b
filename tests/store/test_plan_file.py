"""Plans as users write them, and what they get back for their mistakes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import PlanError, StoreError, UsageError
from etprof.core.extensions import HIDDEN_TOGETHER
from etprof.core.plan import Pair, Plan, Program, Variant
from etprof.store.plan_file import build_plan, json_schema, load_plan, save_plan

TEMPLATES = Path(__file__).parents[2] / "model_profiling/configs/templates"


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


def test_a_comment_is_for_the_reader() -> None:
    assert build({**a_file(), "$comment": "for a CPU with SME2"}) == build(a_file())


def test_asked_for_pairs_are_taken_as_asked() -> None:
    pairs = [{"baseline": "sme2_on", "candidate": "sme2_off"}]
    assert build(a_file(analysis={"compare_pairs": pairs})).pairs == (Pair("sme2_on", "sme2_off"),)


def test_two_variants_that_hide_nothing_are_not_paired_by_guessing() -> None:
    assert build(a_file(experiments=[{"name": "a"}, {"name": "b"}])).pairs == ()


def test_two_experiments_that_differ_in_their_runner_are_a_pair() -> None:
    """As the users' documents have it: a runner with SME2 and one without."""
    out = "executorch/cmake-out/mac-arm64"
    on = {"name": "mac_sme2_on", "runner_path": f"{out}/executor_runner"}
    off = {"name": "mac_sme2_off", "runner_path": f"{out}-sme2-off/executor_runner"}
    expected = (Pair(baseline="mac_sme2_off", candidate="mac_sme2_on"),)
    assert build(a_file(experiments=[on, off])).pairs == expected
    assert build(a_file(experiments=[off, on])).pairs == expected
    neither = [{**on, "name": "a"}, {**off, "name": "b", "runner_path": "built/elsewhere/executor_runner"}]
    assert build(a_file(experiments=neither)).pairs == (Pair("a", "b"),), "the first is the baseline"
    unlike = [{**on, "threads": [1, 2]}, {**off, "threads": [4, 8]}]
    assert build(a_file(experiments=unlike)).pairs == ()


def test_a_runner_path_may_say_that_it_is_our_own() -> None:
    off, on = build(
        a_file(experiments=[{"name": "off", "hide_isa": ["sme2"], "runner_path": "auto"}, {"name": "on"}])
    ).experiments
    assert (off.runner_path, on.runner_path) == (None, None)


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.json")), ids=lambda path: path.name)
def test_a_template_has_the_keys_that_the_users_documents_look_at(template: Path) -> None:
    content = json.loads(template.read_text())
    assert {"model", "output_root", "experiments"} <= content.keys()
    assert len(content["experiments"]) == 2
    for experiment in content["experiments"]:
        assert experiment["name"]
        assert experiment["runner_path"] == "auto"
    plan = build({**content, "model": "m.pte"})
    assert [(pair.baseline, pair.candidate) for pair in plan.pairs] == [tuple(e.name for e in plan.experiments)]


def test_experiments_are_paired_within_their_mode() -> None:
    timed: list[dict[str, Any]] = [{"name": "off", "hide_isa": ["sme2"]}, {"name": "on"}]
    traced = [{**each, "name": f"{each['name']}_trace", "mode": "trace"} for each in timed]
    assert build(a_file(experiments=[*timed, *traced])).pairs == (Pair("off", "on"), Pair("off_trace", "on_trace"))


def test_two_experiments_at_a_thread_count_each_are_a_pair_as_such() -> None:
    two, one = {"name": "two", "threads": 2}, {"name": "one", "threads": 1}
    assert build(a_file(experiments=[two, one])).pairs == (Pair("one", "two"),)
    hidden = [{**each, "hide_isa": ["sme2"]} for each in (one, two)]
    assert build(a_file(experiments=hidden)).pairs == (Pair("one", "two"),)
    assert build(a_file(experiments=[one, {"name": "two", "threads": [2, 4]}])).pairs == ()


def test_a_pair_may_name_a_thread_count_on_each_side() -> None:
    pair = {"baseline": "on", "baseline_threads": 1, "candidate": "on", "candidate_threads": 2}
    plan = build(a_file(experiments=[{"name": "on", "threads": [1, 2]}], analysis={"compare_pairs": [pair]}))
    assert plan.compared == ((Variant("on", 1), Variant("on", 2)),)


@pytest.mark.parametrize(
    ("pair", "message", "hint"),
    [
        ({"baseline": "on", "candidate": "on"}, "compares on with itself", "different baseline_threads"),
        ({"baseline": "on", "candidate": "on", "candidate_threads": 4}, "candidate_threads is 4, and on is", "1, 2"),
        ({"baseline": "on", "candidate": "many"}, "on and many have no thread count in common", "candidate_threads"),
        ({"baseline": "on", "candidate": "traced"}, "only one is timed", "same mode"),
    ],
)
def test_what_cannot_be_compared_is_refused_when_the_plan_is_read(
    pair: dict[str, Any], message: str, hint: str
) -> None:
    experiments = [
        {"name": "on", "threads": [1, 2]},
        {"name": "many", "threads": [8, 16]},
        {"name": "traced", "mode": "trace"},
    ]
    with pytest.raises(PlanError) as caught:
        build(a_file(experiments=experiments, analysis={"compare_pairs": [pair]}))
    assert message in caught.value.message
    assert "analysis.compare_pairs[0]" in caught.value.message
    assert hint in caught.value.hint


def test_the_equivalence_bound_is_the_users() -> None:
    assert build(a_file()).schedule.equivalence_bound == 0.02
    assert build(a_file(schedule={"equivalence_bound": 0.05})).schedule.equivalence_bound == 0.05


def test_a_warmup_is_a_number_or_a_range() -> None:
    assert build(with_experiment(warmup=5)).experiments[0].warmup.minimum == 5
    assert build(with_experiment(warmup={"min": 1, "max": 2})).experiments[0].warmup.maximum == 2


@pytest.mark.parametrize(
    ("written", "cores"),
    [([4, 5], (4, 5)), (3, (3,)), ("0xf0", (4, 5, 6, 7)), ("0,4-6", (0, 4, 5, 6)), ("7", (7,)), ([], ())],
)
def test_cores_can_be_written_in_many_ways(written: Any, cores: tuple[int, ...]) -> None:
    assert build(with_experiment(cpu_affinity=written)).experiments[0].cpu_affinity == cores


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sme3", "Did you mean 'sme' or 'sme2'?"), ("avx51", "'avx512'"), ("SME2", "'sme2'"), ("tensor", "Known: amx")],
)
def test_a_feature_that_no_cpu_has_is_found_when_the_plan_is_read(name: str, hint: str) -> None:
    value = a_file(experiments=[{"name": "on"}, {"name": "off", "hide_isa": ["sme", name]}])
    with pytest.raises(PlanError, match=rf"experiments\[1\].hide_isa names '{name}', which no CPU has") as caught:
        build(value)
    assert hint in caught.value.hint


def test_features_of_every_architecture_pass_since_the_cpu_is_not_known_yet() -> None:
    names = [name for groups in HIDDEN_TOGETHER.values() for name in groups]
    assert build(with_experiment(hide_isa=names)).experiments[0].hide_isa == tuple(names)


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
        (with_experiment(num_runs="ten"), "experiments[0].num_runs is 'ten': it must be a whole number", ""),
        (with_experiment(num_threads="1"), "experiments[0].num_threads is '1': it must be a number or a list", ""),
        (with_experiment(threads="1"), "experiments[0].threads is '1': it must be a number or a list", ""),
        (with_experiment(num_threads=["1"]), "experiments[0].num_threads[0] is '1': it must be a whole number", ""),
        (a_file(schedule={"target_precision": 5}), "schedule.target_precision is 5: it is a share and must be below 1; "
         "0.05 means 5 %", ""),
        (a_file(schedule={"equivalence_bound": 2}), "schedule.equivalence_bound is 2: it is a share", ""),
        (a_file(schedule={"blocks": 2.5}), "schedule.blocks is 2.5: it must be a whole number", ""),
        (with_experiment(threads=0), "experiments[0].threads is", ""),
        (with_experiment(name="../evil"), "experiments[0].name is '../evil'", ""),
        (with_experiment(mode="both"), "experiments[0].mode is 'both'", ""),
        (with_experiment(runs=1, num_runs=2), "has both 'num_runs' and 'runs'", "give one"),
        (a_file(schedule={"blocks": 5, "max_blocks": 2}), "max_blocks 2 is below blocks 5", ""),
        (a_file(schedule={"blocks": 2, "max_blocks": 5, "order": "sequential"}), "cannot add rounds", ""),
        ({"model": "a.pte", "experiments": [{"name": "a"}]}, "the key 'output_root' is missing", "--write-plan"),
        ([], "the file is []", "--write-plan"),
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
    with pytest.raises(UsageError, match="There is no plan"):
        load_plan(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text('{"model": ')
    with pytest.raises(StoreError, match="not valid JSON"):
        load_plan(broken)


CONFIGS = sorted(
    path
    for folder in ("examples", "templates")
    for path in Path(__file__).parents[2].glob(f"model_profiling/configs/{folder}/*.json")
)


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


def test_rules_of_advice_that_are_off_survive_a_file(tmp_path: Path) -> None:
    plan = build(a_file(analysis={"advice_off": ["softmax-share"]}))
    assert plan.advice_off == ("softmax-share",)
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan


def test_a_plan_names_its_method_and_the_shapes_of_its_inputs(tmp_path: Path) -> None:
    asked = {"method": "encode", "input_shapes": [[1, 3, 8], []]}
    plan = build(a_file(**asked))
    assert (plan.method, plan.input_shapes) == ("encode", ((1, 3, 8), ()))
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan
    with pytest.raises(PlanError, match=r"input_shapes\[0\]\[1\]"):
        build(a_file(input_shapes=[[1, 0]]))


def test_an_experiment_may_name_its_own_program_and_the_plan_is_its_default(tmp_path: Path) -> None:
    own = {"model": "new.pte", "method": "encode", "inputs": ["rows.bin"], "input_shapes": [[4, 2]]}
    plan = build(a_file(experiments=[{"name": "old"}, {"name": "new", **own}], inputs=["all.bin"]))
    assert plan.program("old") == Program(Path("out/model.pte"), inputs=(Path("all.bin"),))
    assert plan.program("new") == Program(Path("new.pte"), "encode", (Path("rows.bin"),), ((4, 2),))
    assert plan.programs == (plan.program("old"), plan.program("new"))
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan


def test_a_plan_needs_a_model_only_for_experiments_that_name_none() -> None:
    models = [{"name": "old", "model": "old.pte"}, {"name": "new", "model": "new.pte"}]
    file = a_file(experiments=models)
    del file["model"]
    plan = build(file)
    assert (plan.program("old").model, plan.program("new").model) == (Path("old.pte"), Path("new.pte"))
    with pytest.raises(PlanError, match="the key 'model' is missing"):
        build({**file, "experiments": [*models, {"name": "third"}]})


def test_every_two_programs_under_one_setting_are_a_pair_and_the_first_is_the_baseline() -> None:
    models = [
        {"name": f"{name}_{suffix}", "model": f"{name}.pte", "hide_isa": hidden}
        for name in ("fp32", "q8")
        for suffix, hidden in (("off", ["sme2"]), ("on", []))
    ]
    assert build(a_file(experiments=models)).pairs == (
        Pair("fp32_off", "fp32_on"),
        Pair("q8_off", "q8_on"),
        Pair("fp32_off", "q8_off"),
        Pair("fp32_on", "q8_on"),
    )
    three = [{"name": name, "model": f"{name}.pte"} for name in ("a", "b", "c")]
    assert build(a_file(experiments=three)).pairs == (Pair("a", "b"), Pair("a", "c"), Pair("b", "c"))


def test_a_runtime_that_is_not_known_is_refused() -> None:
    with pytest.raises(PlanError, match=r"experiments\[0\].runtime is 'tflite': runtimes are executorch"):
        build(with_experiment(runtime="tflite"))
    assert build(with_experiment(runtime="executorch")).program("only").runtime == "executorch"


def test_load_options_and_the_page_cache_survive_a_file(tmp_path: Path) -> None:
    options = {"weight_cache_enabled": True, "packed_cache_path": "packed", "workspace_sharing_mode": 1}
    plan = build_plan(
        {
            "model": "m.pte",
            "output_root": "out",
            "experiments": [{"name": "plain"}, {"name": "cached", "load_options": options}],
            "schedule": {"page_cache": "in"},
        },
        "plan.json",
    )
    assert plan.experiment("cached").load_options == tuple(options.items())
    assert plan.pairs == (Pair("plain", "cached"),)
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan


def test_load_options_are_compared_within_what_hides_the_same() -> None:
    cached = {"load_options": {"weight_cache_enabled": True}}
    experiments = [
        {"name": "off", "hide_isa": ["sme2"]}, {"name": "on"}, {"name": "on_cached", **cached},
        {"name": "off_cached", "hide_isa": ["sme2"], **cached},
    ]  # fmt: skip
    plan = build_plan({"model": "m.pte", "output_root": "out", "experiments": experiments}, "plan.json")
    assert {(pair.baseline, pair.candidate) for pair in plan.pairs} == {
        ("off", "on"), ("off_cached", "on_cached"), ("off", "off_cached"), ("on", "on_cached"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight_cache": True}, "XNNPACK has no load option 'weight_cache'; Did you mean 'weight_cache_enabled'?"),
        ({"threads": 2}, "XNNPACK has no load option 'threads'; known: workspace_sharing_mode"),
        ({"weight_cache_enabled": 1}, "weight_cache_enabled takes true or false"),
        ({"workspace_sharing_mode": 3}, "workspace_sharing_mode takes 0, 1 or 2"),
        ({"workspace_sharing_mode": True}, "workspace_sharing_mode takes 0, 1 or 2"),
        ({"packed_cache_path": "packed"}, "packed_cache_path needs weight_cache_enabled: true"),
        ({"weight_cache_enabled": True, "packed_cache_path": "../packed"}, "packed_cache_path takes a plain file name"),
        ({"weight_cache_enabled": True, "packed_cache_path": "a,b"}, "packed_cache_path takes a plain file name"),
    ],
)
def test_a_load_option_that_the_backend_would_ignore_is_refused(options: dict[str, Any], message: str) -> None:
    value = {"model": "m.pte", "output_root": "out", "experiments": [{"name": "on", "load_options": options}]}
    with pytest.raises(PlanError, match=re.escape(message)):
        build_plan(value, "plan.json")


def test_load_options_are_executorchs() -> None:
    experiments = [{"name": "on", "runtime": "onnxruntime", "load_options": {"weight_cache_enabled": True}}]
    with pytest.raises(PlanError, match="which only ExecuTorch takes"):
        build_plan({"model": "m.pte", "output_root": "out", "experiments": experiments}, "plan.json")
