"""Plans that nobody wrote: the pair for a device's CPU, twins that sample, and plans reduced to some experiments."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_device_info, a_plan
from etprof.app.plans import (
    PROFILE_SCHEDULE,
    QUICK_SCHEDULE,
    add_sampled_variants,
    build_kernel_plan,
    build_profile_plan,
    build_profile_schedule,
    read_plan,
    refuse_absent_features,
    select_experiments,
)
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.plan import TIMING, TRACE, Pair, Plan, Schedule, Warmup
from etprof.core.run import DeviceInfo
from etprof.devices.emulated import EmulatedDevice
from etprof.devices.local import LocalDevice
from etprof.runner.stock import OUR_MARK
from stock_runner import make_stock_runner

EMULATED = DeviceInfo("emulated", "Linux", "arm64", "", 2, ("sme", "sme2"), times_are_real=False)


def emulated(info: DeviceInfo = EMULATED) -> EmulatedDevice:
    return EmulatedDevice(lambda _: [], info)


def local(*features: str) -> LocalDevice:
    return LocalDevice(lambda _: [], a_device_info(features=features))


def test_thread_counts_are_those_given_or_those_that_fit_the_device() -> None:
    model, phone = Path("m.pte"), LocalDevice(lambda _: [], a_device_info(cpu_count=6, performance_cores=3))
    for asked, counts in (((1,), (1,)), ((1, 4), (1, 4)), ((), (1, 2, 3, 4, 6))):
        plan = build_profile_plan(model, phone, threads=asked)
        assert [e.threads for e in plan.experiments] == [counts, counts]
        assert [(one.threads, other.threads) for one, other in plan.compared] == [(n, n) for n in counts]
        assert len(plan.thread_steps) == 2 * (len(counts) - 1)
    assert build_profile_plan(model, emulated(), threads=()).experiments[0].threads == (1,)


def test_a_profile_compares_the_best_extension_of_the_devices_cpu_hidden_and_shown() -> None:
    plan = build_profile_plan(Path("out_toy_cnn/artifacts/toy.pte"), local("avx2", "avx512f"))
    assert [(e.name, e.hide_isa) for e in plan.experiments] == [
        ("linux_avx512_off", ("avx512", "amx")),
        ("linux_avx512_on", ()),
    ]
    assert plan.pairs == (Pair(baseline="linux_avx512_off", candidate="linux_avx512_on"),)
    assert plan.output_root == Path("out_toy_cnn/runs/linux_toy")
    assert plan.schedule == PROFILE_SCHEDULE
    older = build_profile_plan(Path("toy.pte"), local("avx2"), output_root=Path("here"))
    assert [e.name for e in older.experiments] == ["linux_avx2_off", "linux_avx2_on"]
    assert older.output_root == Path("here")


def test_a_profile_is_short_where_times_mean_nothing() -> None:
    plan = build_profile_plan(Path("out_toy_cnn/artifacts/toy.pte"), emulated(), schedule=Schedule(max_blocks=20))
    assert plan.output_root == Path("out_toy_cnn/runs/emulated_toy")
    assert [(e.name, "sme2" in e.hide_isa) for e in plan.experiments] == [
        ("emulated_sme2_off", True),
        ("emulated_sme2_on", False),
    ]
    assert {(e.runs, e.traced_runs, e.warmup.maximum) for e in plan.experiments} == {(1, 1, 0)}
    assert (plan.schedule.blocks, plan.schedule.max_blocks) == (1, 1)
    real = build_profile_plan(
        Path("toy.pte"), emulated(replace(EMULATED, times_are_real=True)), schedule=Schedule(max_blocks=20)
    )
    assert (real.experiments[0].runs, real.experiments[0].traced_runs, real.schedule.max_blocks) == (20, 10, 20)


def test_a_cpu_without_an_extension_to_hide_is_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError, match="no instruction-set extension") as caught:
        build_profile_plan(Path("toy.pte"), local("sse2"))
    assert "one experiment" in caught.value.hint


def test_rules_of_advice_that_do_not_exist_cannot_be_switched_off() -> None:
    plan = {"model": "model.pte", "output_root": "run", "experiments": [{"name": "on"}]}
    read = read_plan({**plan, "analysis": {"advice_off": ["softmax-share"]}})
    assert read.advice_off == ("softmax-share",)
    with pytest.raises(UsageError, match="advice_off names 'softmax', which is no rule of advice") as caught:
        read_plan({**plan, "analysis": {"advice_off": ["softmax"]}})
    assert "'softmax-share'" in caught.value.hint


def test_a_profiles_schedule_takes_what_a_user_changes() -> None:
    schedule = build_profile_schedule(blocks=30, max_blocks=24, budget="10m")
    assert (schedule.blocks, schedule.max_blocks, schedule.time_budget_s) == (30, 30, 600.0)
    assert build_profile_schedule(6, 24, "120") == PROFILE_SCHEDULE


def test_a_quick_start_has_a_smaller_budget_than_a_profile() -> None:
    assert QUICK_SCHEDULE.time_budget_s is not None
    assert PROFILE_SCHEDULE.time_budget_s is not None
    assert QUICK_SCHEDULE.time_budget_s < PROFILE_SCHEDULE.time_budget_s
    assert QUICK_SCHEDULE.max_blocks < PROFILE_SCHEDULE.max_blocks


def test_sampling_gets_blocks_of_its_own_and_is_never_a_source_of_latency() -> None:
    plan = add_sampled_variants(a_plan())
    assert [(e.name, e.mode, e.hide_isa) for e in plan.experiments] == [
        ("off", TIMING, ("avx512",)),
        ("on", TIMING, ()),
        ("off_kernels", TRACE, ("avx512",)),
        ("on_kernels", TRACE, ()),
    ]
    assert plan.pairs == a_plan().pairs
    profile = build_profile_plan(Path("toy.pte"), local("avx2"), kernels=True)
    assert [e.mode for e in profile.experiments] == [TIMING, TIMING, TRACE, TRACE]


def test_a_stock_runner_and_an_experiment_that_only_traces_get_no_twin(tmp_path: Path) -> None:
    off, on = a_plan().experiments
    stock = make_stock_runner(tmp_path / "executor_runner")
    ours = tmp_path / "our_runner"
    ours.write_bytes(OUR_MARK)
    mixed = replace(a_plan(), experiments=(replace(off, runner_path=stock), replace(on, runner_path=ours)))
    assert [e.name for e in add_sampled_variants(mixed).experiments] == ["off", "on", "on_kernels"]
    traced = replace(a_plan(), experiments=(replace(on, mode=TRACE),))
    assert add_sampled_variants(traced) == traced
    with pytest.raises(UsageError, match=r"The kernels of off cannot be sampled: .* is a stock executor_runner"):
        add_sampled_variants(replace(mixed, experiments=mixed.experiments[:1]))


def test_a_kernel_plan_only_traces_and_says_how_long_to_sample() -> None:
    plan = build_kernel_plan(
        Path("out_toy_cnn/artifacts/toy.pte"), local("avx2"), output_root=None, threads=4, blocks=3, seconds=1.5
    )
    assert plan.output_root == Path("out_toy_cnn/runs/linux_toy_kernels")
    assert {e.mode for e in plan.experiments} == {TRACE}
    assert {(e.threads, e.extra_args) for e in plan.experiments} == {((4,), ("--sample_ms", "1500"))}
    assert (plan.schedule.blocks, plan.schedule.max_blocks, plan.pairs) == (3, 3, ())
    assert {(e.traced_runs, e.warmup) for e in plan.experiments} == {(10, Warmup())}


def test_under_emulation_no_inference_is_made_for_the_sake_of_times() -> None:
    plan = build_kernel_plan(Path("toy.pte"), emulated(), output_root=None, threads=1, blocks=2, seconds=2.0)
    assert {(e.traced_runs, e.warmup) for e in plan.experiments} == {(1, Warmup(1, 1))}


def test_only_the_named_experiments_are_run() -> None:
    plan = select_experiments(a_plan(), ("on",))
    assert [e.name for e in plan.experiments] == ["on"]
    assert plan.pairs == ()
    assert select_experiments(a_plan(), ("on", "off")).pairs == a_plan().pairs
    with pytest.raises(UsageError, match="no experiment 'onn'"):
        select_experiments(plan, ("onn",))


def test_a_plan_file_is_read_with_what_was_asked_for_besides(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    content = {"model": "m.pte", "output_root": "there", "experiments": [{"name": "one"}, {"name": "other"}]}
    path.write_text(json.dumps(content))
    assert read_plan(path).output_root == Path("there")
    plan = read_plan(path, output_root=Path("here"), only=("other",))
    assert (plan.output_root, [e.name for e in plan.experiments]) == (Path("here"), ["other"])
    assert read_plan(content) == read_plan(path)
    assert read_plan(plan) == plan
    assert read_plan(plan, output_root=Path("elsewhere")) == replace(plan, output_root=Path("elsewhere"))


M3 = ("atomics", "bf16", "i8mm", "dot", "fp16arith", "fhm")


def hiding(*names: str, **changes: Any) -> Plan:
    off, on = a_plan().experiments
    return replace(a_plan(), experiments=(replace(off, hide_isa=names, **changes), on))


@pytest.mark.parametrize("template", ["mac", "android"])
def test_a_shipped_template_on_a_cpu_without_sme2_is_refused_with_the_plan_that_fits(template: str) -> None:
    folder = Path(__file__).parents[2] / "model_profiling" / "configs" / "templates"
    content = json.loads((folder / f"{template}_template.json").read_text(encoding="utf-8"))
    plan = read_plan({**content, "model": "toy.pte"})
    with pytest.raises(UsageError) as caught:
        refuse_absent_features(plan, a_device_info(architecture="arm64", features=M3))
    assert caught.value.message == (f"{template}_sme2_off hides sme, sme2, and the CPU of this machine has none of it.")
    assert caught.value.hint == (
        "It has i8mm, bf16, dot, fp16arith, matrix. `etprof profile toy.pte` makes the plan that fits this CPU: "
        "its baseline hides i8mm, dot."
    )
    refuse_absent_features(plan, a_device_info(architecture="arm64", features=(*M3, "sme", "sme2")))


def test_a_cpu_with_nothing_to_hide_gets_a_way_out() -> None:
    with pytest.raises(UsageError, match="has none of it") as caught:
        refuse_absent_features(hiding("sme2"), a_device_info(architecture="arm64", features=("aes",)))
    assert "one experiment" in caught.value.hint


def test_a_feature_of_another_architecture_is_refused_with_the_right_ones() -> None:
    with pytest.raises(UnknownNameError, match="feature group to hide on arm64 called 'avx512'") as caught:
        refuse_absent_features(hiding("avx512"), a_device_info(architecture="arm64", features=M3))
    assert "i8mm" in caught.value.hint


@pytest.mark.parametrize(
    ("plan", "features"),
    [
        # One of two is enough: a CPU with AVX-512 need not have AMX.
        (hiding("avx512", "amx"), ("avx2", "avx512f")),
        # A system that reports nothing proves nothing.
        (hiding("avx512"), ()),
        # A launcher may be an emulator of another CPU.
        (hiding("avx512", launcher=("qemu-x86_64",)), ("avx2",)),
    ],
)
def test_what_can_be_hidden_or_is_not_known_is_left_to_the_runner(plan: Plan, features: tuple[str, ...]) -> None:
    refuse_absent_features(plan, a_device_info(features=features))


def test_what_an_old_kernel_does_not_report_is_left_to_the_runner() -> None:
    """cpuinfo knows some cores to have dot products where the kernel is too old to say so."""
    refuse_absent_features(hiding("dot"), a_device_info(architecture="arm64", features=("aes",)))
