"""Each rule of advice with a model that it applies to and one that it does not; with a run, and without one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from advice_builder import (
    Layer,
    advise_model,
    advise_run,
    convolution,
    depthwise,
    linear,
    outside,
    product,
    simple,
    sme_device,
    transpose,
)
from builders import a_result, an_export_meta
from etprof.analysis.advice.rules import find_rule, load_rules
from etprof.analysis.timing.latency import summarize_latency
from etprof.core.advice import SavedFrom
from etprof.core.errors import UnknownNameError
from etprof.core.estimates import Interval
from etprof.core.model import Delegation, LeftOperator
from etprof.core.report import LatencySummary, NextStep
from etprof.core.run import SmeUnits
from etprof.core.scaling import Scaling, ScalingCurve, ThreadPoint

NCHW, NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def softmax(ms: float) -> Layer:
    return simple("XNNSoftmax", "Softmax (NC, F32)", ms)


def activation(ms: float, type: str = "XNNGelu", event: str = "GELU (NC)") -> Layer:
    return simple(type, event, ms)


def chain(*times_ms: float) -> list[Layer]:
    """Additions, each of which reads what the one before it made."""
    return [simple("XNNAdd", "Add (ND)", ms, reads=(10 + i,), writes=11 + i) for i, ms in enumerate(times_ms)]


def convert(ms: float, dtype: str, made: str) -> Layer:
    return simple("XNNConvert", "Convert (NC, F32, QS8)", ms, dtype=dtype, made=made)


def turned_twice(ms: float, back: tuple[int, ...] = NHWC) -> list[Layer]:
    return [
        convolution(10),
        transpose(ms, NCHW, reads=3, writes=4),
        transpose(ms, back, reads=4, writes=5),
        convolution(10),
    ]


def two_calls(between: Layer, *, times: int = 2) -> dict[str, Any]:
    """A model that is cut by an operator, so often; the calls and what runs between them."""
    calls = [[convolution(4)] for _ in range(times + 1)]
    return {
        "calls": calls,
        "portable": [between] * times,
        "between": dict.fromkeys(range(times), (between.event,)),
    }


def run_cut(between: Layer, *, times: int = 2, **known: Any) -> dict[str, NextStep]:
    cut = two_calls(between, times=times)
    return advise_run(*cut["calls"], portable=cut["portable"], between=cut["between"], **known)


def latency_of(*, cold_ms: float = 3.0, load_ms: float = 0.7, tracer: float = 0.0) -> LatencySummary:
    results = [replace(a_result("on", i), warmup_ns=(int(cold_ms * 1e6), 2_000_000)) for i in range(6)]
    summary = summarize_latency([replace(each, load_ns=int(load_ms * 1e6)) for each in results])
    assert summary is not None
    return replace(summary, tracer_cost=tracer)


def fp16_meta() -> Any:
    left = (LeftOperator("aten.gelu.default", 1, "GELU does not support fp16"),)
    return an_export_meta(precision="fp16", delegation=Delegation(1, 1, 1, 0.5, {}, left))


def scaling_of(**times_ms: float) -> Scaling:
    """An experiment at thread counts t1, t2 and so on."""
    points = tuple(ThreadPoint(int(name[1:]), ms, Interval(ms, ms, ms)) for name, ms in times_ms.items())
    best = min(points, key=lambda point: point.latency_ms).threads
    curve = ScalingCurve("on", points, (), best, (), None)
    return Scaling((curve,), (), 1, 0.95, 0.02, 8)


SME: dict[str, Any] = {"device": sme_device()}
OTHER_WORK = convolution(10)
QUANTISED = (convert(1, "fp32", "qint8"), OTHER_WORK)
# Of each rule: what triggers it, and what is alike and does not.
Case = Callable[[], Mapping[str, Any]]
RUNS: dict[str, tuple[Case, Case]] = {
    "border-layout-changes": (
        lambda: advise_run([OTHER_WORK], [transpose(2, NHWC), OTHER_WORK], portable=[outside("relu.out", 1)]),
        lambda: advise_run([transpose(2, NHWC), OTHER_WORK, transpose(2, NCHW)]),
    ),
    "cancelling-transposes": (
        lambda: advise_run(turned_twice(2)),
        lambda: advise_run(turned_twice(2, back=NCHW)),
    ),
    "concatenation-copies": (
        lambda: advise_run([OTHER_WORK, simple("XNNConcatenate2", "Copy (NC, X32)", 1, reads=(1, 2))]),
        lambda: advise_run([OTHER_WORK, simple("XNNCopy", "Copy (NC, X32)", 1)]),
    ),
    "costly-activations": (
        lambda: advise_run([OTHER_WORK, activation(1)]),
        lambda: advise_run([OTHER_WORK, activation(1, "XNNClamp", "Clamp (NC)")]),
    ),
    "cut-partitions": (
        lambda: run_cut(outside("softplus.out", 1)),
        lambda: run_cut(outside("softplus.out", 1), times=1),
    ),
    "data-movement": (
        lambda: advise_run([OTHER_WORK, simple("XNNStaticSlice", "Slice (ND, X32)", 1)]),
        lambda: advise_run([OTHER_WORK]),
    ),
    "debug-runner": (
        lambda: advise_run([OTHER_WORK], results=[a_result(has_debug_log=True)]),
        lambda: advise_run([OTHER_WORK], results=[a_result()]),
    ),
    "delegate-overhead": (
        lambda: advise_run([OTHER_WORK], [OTHER_WORK], overhead_ms=(2, 0)),
        lambda: advise_run([OTHER_WORK], overhead_ms=(2, 0)),
    ),
    "depthwise-share": (
        lambda: advise_run([OTHER_WORK, depthwise(5)]),
        lambda: advise_run([OTHER_WORK, depthwise(1)]),
    ),
    "dynamic-matmul": (
        lambda: advise_run([OTHER_WORK, product(3)]),
        lambda: advise_run([OTHER_WORK, product(3, constant=True)]),
    ),
    "elementwise": (
        lambda: advise_run([OTHER_WORK, *chain(1)]),
        lambda: advise_run([OTHER_WORK, *chain(0.01)]),
    ),
    "elementwise-chains": (
        lambda: advise_run([OTHER_WORK, *chain(1, 2, 3)]),
        lambda: advise_run([OTHER_WORK, *chain(1, 2)]),
    ),
    "fp16-fallback": (
        lambda: advise_run([OTHER_WORK], portable=[outside("gelu.out", 1, dtype="float16")], export_meta=fp16_meta()),
        lambda: advise_run([OTHER_WORK], portable=[outside("gelu.out", 1)]),
    ),
    "framework-overhead": (
        lambda: advise_run([OTHER_WORK], portable=[outside("relu.out", 1)], overhead_ms=(0, 2)),
        lambda: advise_run([OTHER_WORK], overhead_ms=(0, 2)),
    ),
    "groupwise-4bit": (
        lambda: advise_run([linear(dtype="qdint8", weights="qbint4")], predicted="NEON", **SME),
        lambda: advise_run([linear(dtype="qdint8", weights="qbint4")], predicted="SME2", **SME),
    ),
    "largest-kind": (
        lambda: advise_run([convolution(), convolution()]),
        lambda: advise_run([convolution(), softmax(1)]),
    ),
    "largest-operator": (
        lambda: advise_run([convolution()]),
        lambda: advise_run(chain(1)),
    ),
    "one-row-products": (
        lambda: advise_run([OTHER_WORK, linear(5, rows=1)]),
        lambda: advise_run([OTHER_WORK, linear(5, rows=16)]),
    ),
    "padded-tiles": (
        lambda: advise_run([linear(sizes=(64, 40))], **SME),
        lambda: advise_run([linear(sizes=(64, 64))], **SME),
    ),
    "pads": (
        lambda: advise_run([OTHER_WORK, simple("XNNStaticConstantPad", "Constant Pad (ND, X32)", 1)]),
        lambda: advise_run([OTHER_WORK, simple("XNNStaticConstantPad", "Constant Pad (ND, X32)", 0.1)]),
    ),
    "per-tensor-linear": (
        lambda: advise_run([linear(dtype="qint8", weights="qint8")], **SME),
        lambda: advise_run([linear(dtype="qint8", weights="qcint8")], **SME),
    ),
    "portable-gather": (
        lambda: advise_run([OTHER_WORK], portable=[outside("index.Tensor_out", 1)]),
        lambda: advise_run([OTHER_WORK], portable=[outside("relu.out", 1)]),
    ),
    "portable-normalisation": (
        lambda: advise_run([OTHER_WORK], portable=[outside("native_layer_norm.out", 1)]),
        lambda: advise_run([OTHER_WORK], portable=[outside("relu.out", 1)]),
    ),
    "portable-operators": (
        lambda: advise_run([OTHER_WORK], portable=[outside("relu.out", 1)]),
        lambda: advise_run([OTHER_WORK], portable=[outside("index.Tensor_out", 1)]),
    ),
    "quantisation-islands": (
        lambda: advise_run([OTHER_WORK, convert(1, "qint8", "fp32"), softmax(1), *QUANTISED]),
        lambda: advise_run([convert(1, "fp32", "qint8"), OTHER_WORK, convert(1, "qint8", "fp32")]),
    ),
    "resizes": (
        lambda: advise_run([OTHER_WORK, simple("XNNStaticResizeBilinear2D", "Resize Bilinear (NHWC, F32)", 1)]),
        lambda: advise_run([OTHER_WORK, simple("XNNStaticResizeBilinear2D", "Resize Bilinear (NHWC, F32)", 0.2)]),
    ),
    "slow-first-inference": (
        lambda: advise_run([OTHER_WORK], latency=latency_of(cold_ms=9)),
        lambda: advise_run([OTHER_WORK], latency=latency_of(cold_ms=3)),
    ),
    "slow-load": (
        lambda: advise_run([OTHER_WORK], latency=latency_of(load_ms=90)),
        lambda: advise_run([OTHER_WORK], latency=latency_of(load_ms=10)),
    ),
    "small-model": (
        lambda: advise_run([convolution(0.1)], overhead_ms=(0.05, 0.02)),
        lambda: advise_run([convolution(10)], overhead_ms=(0.05, 0.02)),
    ),
    "softmax-share": (
        lambda: advise_run([OTHER_WORK, softmax(1)]),
        lambda: advise_run([OTHER_WORK, softmax(0.1)]),
    ),
    "threads-over-sme-units": (
        lambda: advise_run([OTHER_WORK], threads=4, **SME),
        lambda: advise_run([OTHER_WORK], threads=4, device=sme_device(sme_units=SmeUnits(8, is_shared=False))),
    ),
    "state-copies": (
        lambda: advise_run([OTHER_WORK], portable=[outside("index_put.out", 1), outside("copy_", 1)]),
        lambda: advise_run([OTHER_WORK], portable=[outside("index_put_", 1)]),
    ),
    "transposes": (
        lambda: advise_run([OTHER_WORK, transpose(2, NHWC), OTHER_WORK]),
        lambda: advise_run(turned_twice(2)),
    ),
}  # fmt: skip
# It is about two variants: tests/analysis/advice/test_next_steps.py has reports of both.
ABOUT_PAIRS = {"left-behind"}


def test_every_rule_has_a_model_that_triggers_it_and_one_that_does_not() -> None:
    assert {rule.id for rule in load_rules()} == {*RUNS, *ABOUT_PAIRS}
    assert len(load_rules()) >= 20


@pytest.mark.parametrize("rule", RUNS)
def test_the_rule_is_found_where_it_applies_and_only_there(rule: str) -> None:
    applies, does_not = RUNS[rule]
    step = applies()[rule]
    assert step.saves_ms > 0
    assert 0 < step.share <= 1
    assert step.reason.endswith(".")
    assert step.advice.endswith((".", "`"))
    assert rule not in does_not()


STATIC: dict[str, tuple[Case, Case]] = {
    "border-layout-changes": (
        lambda: advise_model([OTHER_WORK], [transpose(2, NHWC), OTHER_WORK]),
        lambda: advise_model([transpose(2, NHWC), OTHER_WORK]),
    ),
    "cancelling-transposes": (lambda: advise_model(turned_twice(2)), lambda: advise_model([transpose(2, NHWC)])),
    "concatenation-copies": (
        lambda: advise_model([OTHER_WORK, simple("XNNConcatenate2", "", 1, reads=(1, 2))]),
        lambda: advise_model([OTHER_WORK, simple("XNNCopy", "", 1)]),
    ),
    "costly-activations": (
        lambda: advise_model([OTHER_WORK, activation(1, "XNNHardswish")]),
        lambda: advise_model([OTHER_WORK, activation(1, "XNNClamp")]),
    ),
    "cut-partitions": (
        lambda: advise_model([OTHER_WORK], [OTHER_WORK], [OTHER_WORK], portable=[outside("softplus.out", 1)] * 2),
        lambda: advise_model([OTHER_WORK], portable=[outside("softplus.out", 1)] * 2),
    ),
    "data-movement": (
        lambda: advise_model([OTHER_WORK, simple("XNNStaticSlice", "", 1)]),
        lambda: advise_model([OTHER_WORK]),
    ),
    "depthwise-share": (lambda: advise_model([depthwise(5)]), lambda: advise_model([OTHER_WORK, depthwise(5, 8)])),
    "dynamic-matmul": (lambda: advise_model([product(1)]), lambda: advise_model([product(1, constant=True)])),
    "elementwise": (lambda: advise_model(chain(1)), lambda: advise_model([OTHER_WORK])),
    "elementwise-chains": (lambda: advise_model(chain(1, 1, 1)), lambda: advise_model(chain(1, 1))),
    "fp16-fallback": (
        lambda: advise_model([OTHER_WORK], portable=[outside("gelu.out", 1, dtype="float16")]),
        lambda: advise_model([OTHER_WORK], portable=[outside("gelu.out", 1)]),
    ),
    "groupwise-4bit": (
        lambda: advise_model([linear(weights="qbint4")], predicted="NEON"),
        lambda: advise_model([linear(weights="qbint4")]),
    ),
    "largest-kind": (
        lambda: advise_model([convolution(), convolution()]),
        lambda: advise_model([convolution(), linear()]),
    ),
    "one-row-products": (lambda: advise_model([linear(rows=1)]), lambda: advise_model([linear(rows=16)])),
    "padded-tiles": (lambda: advise_model([linear(sizes=(64, 40))]), lambda: advise_model([linear(sizes=(64, 32))])),
    "pads": (lambda: advise_model([simple("XNNStaticConstantPad", "", 1)]), lambda: advise_model([OTHER_WORK])),
    "per-tensor-linear": (
        lambda: advise_model([linear(weights="qint8")]),
        lambda: advise_model([linear(weights="qint8")], predicted="SME2"),
    ),
    "portable-gather": (
        lambda: advise_model([OTHER_WORK], portable=[outside("embedding.out", 1)]),
        lambda: advise_model([OTHER_WORK]),
    ),
    "portable-normalisation": (
        lambda: advise_model([OTHER_WORK], portable=[outside("native_layer_norm.out", 1)]),
        lambda: advise_model([OTHER_WORK]),
    ),
    "portable-operators": (
        lambda: advise_model([OTHER_WORK], portable=[outside("relu.out", 1)]),
        lambda: advise_model([OTHER_WORK]),
    ),
    "quantisation-islands": (
        lambda: advise_model([OTHER_WORK, convert(1, "qint8", "fp32"), softmax(1)]),
        lambda: advise_model([OTHER_WORK, convert(1, "fp32", "qdint8"), linear()]),
    ),
    "resizes": (lambda: advise_model([simple("XNNStaticResizeBilinear2D", "", 1)]), lambda: advise_model([OTHER_WORK])),
    "softmax-share": (lambda: advise_model([softmax(1)]), lambda: advise_model([OTHER_WORK])),
    "state-copies": (
        lambda: advise_model([OTHER_WORK], portable=[outside("index_put.out", 1), outside("copy_", 1)]),
        lambda: advise_model([OTHER_WORK], portable=[outside("index_put.out", 1)]),
    ),
    "transposes": (lambda: advise_model([transpose(1, NHWC)]), lambda: advise_model(turned_twice(1))),
}


def test_every_rule_that_needs_no_run_is_tested_without_one() -> None:
    assert {rule.id for rule in load_rules() if not rule.needs_run} == set(STATIC)


@pytest.mark.parametrize("rule", STATIC)
def test_the_rule_is_found_in_a_model_that_was_not_run(rule: str) -> None:
    applies, does_not = STATIC[rule]
    step = applies()[rule]
    assert step.share is not None
    assert 0 < step.share <= 1
    assert step.measure in ("multiply-accumulates", "bytes moved")
    assert " ms" not in step.reason
    assert rule not in does_not()


def test_rules_are_files_called_after_their_ids() -> None:
    for rule in load_rules():
        module = rule.find.__module__.rsplit(".", 1)[1]
        assert module.replace("_", "-") == rule.id
        assert find_rule(rule.id) is rule
    with pytest.raises(UnknownNameError, match="no rule of advice called 'softmax'"):
        find_rule("softmax")


def test_what_a_rule_says_of_itself_is_complete() -> None:
    for rule in load_rules():
        assert rule.advice.endswith("."), rule.id
        assert not rule.looks_at.endswith("."), rule.id
        assert not rule.bound.endswith("."), rule.id
        assert rule.snippet.strip(), rule.id
        assert max(map(len, rule.snippet.splitlines())) <= 110, rule.id


def test_rules_about_sme_say_nothing_of_other_cpus() -> None:
    for rule in (rule.id for rule in load_rules() if rule.about_sme):
        assert rule not in advise_run([linear(sizes=(64, 40), dtype="qint8", weights="qint8")], threads=4)
    hidden = advise_run([linear(sizes=(64, 40))], device=sme_device(features=("i8mm", "dot")))
    assert "padded-tiles" not in hidden


def test_a_rule_that_is_off_is_not_applied() -> None:
    assert "softmax-share" in advise_run([OTHER_WORK, softmax(5)])
    assert "softmax-share" not in advise_run([OTHER_WORK, softmax(5)], off=["softmax-share"])


def test_what_a_specific_rule_is_about_is_not_told_again_by_a_general_one() -> None:
    steps = advise_run([OTHER_WORK, activation(1), *chain(1)])
    assert steps["costly-activations"].saves_ms == 1
    assert (steps["elementwise"].saves_ms, steps["elementwise"].title) == (1, "Reduce the other elementwise operators")


def test_the_padded_part_alone_is_the_bound_of_padded_tiles() -> None:
    steps = advise_run([linear(4.0, sizes=(64, 48)), linear(2.0, sizes=(64, 8))], **SME)
    # 48 of 64 columns are used, and 8 of 32.
    assert steps["padded-tiles"].saves_ms == pytest.approx(4.0 * 0.25 + 2.0 * 0.75)
    assert "8 output channels" in steps["padded-tiles"].reason


def test_a_chain_goes_through_transposes_and_ends_where_data_comes_from_elsewhere() -> None:
    first, second, third = chain(1, 3, 2)
    turned = transpose(4, NCHW, reads=12, writes=20)
    third = simple("XNNAdd", "Add (ND)", 2, reads=(20,), writes=21)
    assert advise_run([OTHER_WORK, first, second, turned, third])["elementwise-chains"].saves_ms == pytest.approx(6)
    apart = simple("XNNAdd", "Add (ND)", 2, reads=(30,), writes=31)
    assert "elementwise-chains" not in advise_run([OTHER_WORK, first, second, turned, apart])


def test_what_runs_between_two_conversions_is_part_of_the_bound() -> None:
    island = [convert(1, "qint8", "fp32"), softmax(4), *QUANTISED]
    assert advise_run([OTHER_WORK, *island])["quantisation-islands"].saves_ms == pytest.approx(6)


def test_layout_changes_beside_the_conversions_are_part_of_the_bound() -> None:
    island = [transpose(2, NHWC), convert(1, "qint8", "fp32"), softmax(4), convert(1, "fp32", "qint8")]
    operators = [OTHER_WORK, *island, transpose(3, NHWC), OTHER_WORK, transpose(5, NHWC), OTHER_WORK]
    assert advise_run(operators)["quantisation-islands"].saves_ms == pytest.approx(11)


def test_the_product_of_a_silu_belongs_to_it() -> None:
    sigmoid = simple("XNNSigmoid", "Sigmoid (NC)", 1, reads=(1,), writes=2)
    gate = simple("XNNMultiply", "Multiply (ND)", 1, reads=(1, 2), writes=3)
    other = simple("XNNMultiply", "Multiply (ND)", 1, reads=(3, 4), writes=5)
    steps = advise_run([OTHER_WORK, sigmoid, gate, OTHER_WORK, other])
    assert steps["costly-activations"].saves_ms == 2


def test_an_operator_that_cuts_is_told_with_the_partitioners_reason_and_what_to_write() -> None:
    left = (LeftOperator("aten.elu.default", 2, "XNNPACK's partitioner has no rule for this operator"),)
    meta = an_export_meta(delegation=Delegation(3, 3, 2, 0.6, {}, left))
    step = run_cut(outside("elu.out", 1), export_meta=meta)["cut-partitions"]
    assert step.title == "Replace elu, which cuts the model into partitions"
    assert "cuts it in 2 of 2 places" in step.reason
    assert "The partitioner says: XNNPACK's partitioner has no rule for this operator." in step.reason
    assert "`F.relu(x) + torch.exp(torch.clamp(x, max=0.0)) - 1.0`" in step.advice


def test_what_is_saved_once_comes_last_and_says_what_of() -> None:
    steps = list(advise_run([OTHER_WORK], latency=latency_of(cold_ms=90, load_ms=200)).values())
    assert [step.saved_from for step in steps] == [SavedFrom.INFERENCE, SavedFrom.LOAD, SavedFrom.FIRST_INFERENCE]
    assert steps[2].saves_ms == pytest.approx(88)
    assert steps[2].share == pytest.approx(88 / 90)


def test_the_best_thread_count_that_was_measured_replaces_the_bound() -> None:
    known: dict[str, Any] = {**SME, "threads": 4}
    step = advise_run([OTHER_WORK], scaling=scaling_of(t1=2.0, t2=1.1, t4=1.5), **known)["threads-over-sme-units"]
    assert (step.title, step.is_bound) == ("Use 2 threads instead of 4", False)
    assert step.saves_ms == pytest.approx(0.4)
    assert step.share == pytest.approx(0.4 / 1.5)
    assert "threads-over-sme-units" not in advise_run([OTHER_WORK], scaling=scaling_of(t1=2.0, t2=1.1, t4=1.0), **known)


def test_what_the_tracer_adds_is_no_overhead_of_a_small_model() -> None:
    latency = latency_of(tracer=0.1)
    assert "small-model" not in advise_run([convolution(0.1)], overhead_ms=(0.05, 0.02), latency=latency)


def test_the_largest_share_of_a_model_comes_first() -> None:
    steps = list(advise_model([convolution(), convolution(), linear(rows=1), activation(1)]).values())
    assert [step.share for step in steps] == sorted((step.share or 0 for step in steps), reverse=True)


def test_depthwise_convolutions_without_a_depthwise_kernel_are_compared_with_those_that_have_one() -> None:
    general = replace(depthwise(5), event="Convolution (NHWC, QC8) IGEMM")
    reason = advise_run([OTHER_WORK, general, depthwise(1)])["depthwise-share"].reason
    assert "execute a general kernel and no depthwise one" in reason
    assert "XNNPACK has none for windows of more than 25 values" in reason
    assert "general kernel" not in advise_run([OTHER_WORK, depthwise(5)])["depthwise-share"].reason


def test_the_matrix_unit_is_spoken_of_only_where_there_is_one() -> None:
    elsewhere = advise_run([OTHER_WORK, depthwise(5)])["depthwise-share"]
    assert "SME" not in elsewhere.reason
    assert "matrix unit" not in elsewhere.advice
    there = advise_run([OTHER_WORK, depthwise(5)], device=sme_device())["depthwise-share"]
    assert "no kernel for SME" in there.reason
    assert "matrix unit" in there.advice


def test_what_changes_state_is_left_to_the_rule_about_state() -> None:
    state = [outside("index_put.out", 1), outside("copy_", 1)]
    assert "portable-gather" not in advise_run([OTHER_WORK], portable=state)
    steps = advise_run([OTHER_WORK], portable=[*state, outside("embedding.out", 1)])
    assert steps["portable-gather"].reason.startswith("XNNPACK has no embedding. One operator takes 1.00 ms")
    assert steps["state-copies"].saves_ms == pytest.approx(2.0)
