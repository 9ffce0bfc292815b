"""The sentences of a report: each says what the data says, and nothing where there is no data."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info
from etprof.core.advice import ModelStep, SavedFrom
from etprof.core.estimates import Interval, Verdict
from etprof.core.findings import ABOUT_DETAILS, ABOUT_THE_MODEL, IN_THE_INTERVAL, Finding, FindingKind, group_findings
from etprof.core.plan import Variant
from etprof.core.report import NextStep, Report, RollupChange
from etprof.core.rows import NO_MODULE, KernelUse, RollupRow
from etprof.core.units import NO_TIMES
from etprof.reports import sentences as say
from evidence_builder import an_evidence, sampled_operator
from report_builder import a_report, with_kernels


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return a_report(tmp_path)


def a_step(saves_ms: float, share: float) -> NextStep:
    return NextStep(
        Variant("on", 1), "transposes", "Remove transposes", saves_ms, share, "They take long.", "Keep one layout."
    )


def test_a_verdict_comes_with_its_interval_and_with_its_reason_where_it_claims_nothing(report: Report) -> None:
    faster = report.comparisons[0]
    assert say.verdict_sentence(faster) == (
        "on against off (1 thread): faster, speed-up 2.40x (95 % interval 2.39x to 2.41x)."
    )
    unsure = replace(faster, verdict=Verdict.INCONCLUSIVE, reason="too few blocks")
    assert say.verdict_sentence(unsure).endswith("(95 % interval 2.39x to 2.41x); too few blocks.")
    unknown = replace(unsure, speedup=None)
    assert say.verdict_sentence(unknown) == "on against off (1 thread): inconclusive; too few blocks."
    assert say.speedup_text(faster) == "2.40x (2.39x to 2.41x)"
    assert say.speedup_text(unknown) == "n/a"


def test_the_noise_floor_is_a_number_or_nothing(report: Report) -> None:
    comparison = report.comparisons[0]
    assert say.noise_sentence(replace(comparison, noise_floor=0.0839)) == "Noise floor: 8.4 %."
    assert say.noise_sentence(replace(comparison, noise_floor=None)) == ""


def test_medians_of_another_ratio_are_explained(report: Report) -> None:
    comparison = report.comparisons[0]
    assert say.medians_sentence(comparison, report) == ""
    other = replace(comparison, speedup=Interval(2.1, 2.0, 2.2, 0.95))
    assert say.medians_sentence(other, report).startswith("Ratio of the medians: 2.40x; the speed-up is of")
    assert say.medians_sentence(replace(comparison, speedup=None), report) == ""


def test_the_modules_that_take_most_time_are_named_where_any_is_known(report: Report) -> None:
    rows = [RollupRow(name, 1, 1.0, share, None, None) for name, share in (("head", 0.5), (NO_MODULE, 0.3))]
    changes = [RollupChange(row.name, None, row) for row in rows]
    known = replace(report.comparisons[0], rollups={"module": tuple(changes)})
    assert say.modules_sentence(known) == "head 50.0 % of the time; 30.0 % in no module."
    assert say.modules_sentence(replace(known, rollups={"module": tuple(changes[1:])})) == ""
    assert say.modules_sentence(replace(known, rollups={})) == ""


def test_variants_that_could_use_the_extension_come_first_in_the_evidence(tmp_path: Path) -> None:
    sampled = say.list_sampled(with_kernels(a_report(tmp_path)))
    assert [(v.variant.experiment, v.evidence.shown) for v in sampled if v.evidence] == [("on", True), ("off", False)]


def test_the_bottleneck_moves_or_stays_or_is_unknown(report: Report) -> None:
    comparison = report.comparisons[0]
    assert say.bottleneck_sentence(comparison) == (
        "The bottleneck moves from Convolution (62.5 % of the time before, 38.6 % after) to Data Movement "
        "(17.8 % of the time before, 43.8 % after). Above all: transpose (36.1 %)."
    )
    same = replace(comparison, bottleneck_after="Convolution", operators=())
    assert say.bottleneck_sentence(same) == "Bottleneck: Convolution before (62.5 % of the time) and after (38.6 %)."
    assert say.bottleneck_sentence(replace(comparison, bottleneck_before="")) == ""


def test_what_stands_in_place_of_a_latency_says_why(report: Report) -> None:
    variant = replace(report.variants[0], latency=None)
    assert say.missing_latency(variant, report) == "traced only, not timed"
    assert say.missing_latency(replace(variant, accounting=None), report) == "no successful block"
    sampled = replace(variant, evidence=an_evidence())
    assert say.missing_latency(sampled, report) == "sampled for its kernels, not timed"
    assert say.missing_latency(sampled, replace(report, times_are_real=False)) == NO_TIMES
    assert say.median_text(variant, report) == "traced only, not timed"
    assert say.median_text(report.variants[0], report) == "4.80 ms"


@pytest.mark.parametrize(
    ("traced", "mode"),
    [((False, False), "untraced"), ((True, False), "traced and untraced"), ((True, True), "traced")],
)
def test_the_timing_mode_is_that_of_all_variants(traced: tuple[bool, ...], mode: str, report: Report) -> None:
    variants = [
        replace(variant, latency=variant.latency and replace(variant.latency, is_traced=each))
        for variant, each in zip(report.variants, traced, strict=True)
    ]
    assert say.timing_mode(variants) == mode


def test_a_gain_is_a_bound_on_time_share_and_the_whole() -> None:
    assert say.gain_sentence(a_step(0.75, 0.249)) == "at most 0.750 ms (24.9 %), 1.33x overall"
    assert say.gain_sentence(a_step(2.0, 1.0)) == "at most 2.00 ms (100.0 %)"


def test_samples_are_counted_with_what_became_of_the_others() -> None:
    evidence = an_evidence(sampled_operator("d0.0", "Add #1", KernelUse("k", "SME", 40)), outside=2, dropped=1)
    assert say.sampling_sentence(evidence) == (
        "Active samples: 42 (2 outside of any operator); waiting: 3; dropped: 1; threads: 1. "
        "SME2 was shown to the kernels."
    )
    assert say.sampling_sentence(replace(evidence, shown=False)).endswith("SME2 was hidden from the kernels.")


def test_kernels_instructions_and_intervals_as_text() -> None:
    uses = (KernelUse("kai_sme2", "SME", 9), KernelUse("", "NEON", 1))
    assert say.kernels_text(uses) == "kai_sme2 (SME, 9); unnamed (NEON, 1)"
    assert say.kernels_text(()) == "none sampled"
    assert say.instructions_text({"NEON": 1, "SME": 9}) == "SME 9, NEON 1"
    assert say.interval_text(Interval(0.5, 0.4, 0.61)) == "50 % (40 % to 61 %)"
    assert say.interval_text(None) == "unknown"


def test_noise_is_in_the_interval_and_no_reason_for_doubt(report: Report) -> None:
    none = "Nothing in the data casts doubt on the verdict"
    assert say.trust_sentence(report) == f"{none}. Noise, which the interval covers: 2 x few runs."
    drifts = Finding(FindingKind.DRIFT, "It drifts.", "Cool it.")
    assert (
        say.trust_sentence(replace(report, findings=(drifts,))) == f"{none}. Noise, which the interval covers: drift."
    )
    assert say.trust_sentence(replace(report, findings=())) == f"{none}."
    several = replace(report, findings=(), comparisons=report.comparisons * 2)
    assert say.trust_sentence(several) == f"{none}s."


def test_without_a_speedup_noise_is_a_reason_for_doubt(report: Report) -> None:
    alone = replace(report, comparisons=())
    assert say.trust_sentence(alone) == "Read before trusting the numbers: 2 x few runs."
    assert say.trust_sentence(replace(alone, findings=())) == "Nothing in the data casts doubt on the numbers."


def test_a_doubt_comes_first_and_the_rest_is_told_apart(report: Report) -> None:
    kinds = (FindingKind.DRIFT, FindingKind.OUTPUTS_DIFFER, FindingKind.COSTLY_TRACER, FindingKind.PARTITIONS)
    several = replace(report, findings=tuple(Finding(kind, "It is so.", "") for kind in kinds))
    assert say.trust_sentence(several) == (
        "Read before trusting the verdict: outputs differ. Noise, which the interval covers: drift. "
        "About operators and kernels: costly tracer. About the model: partitions."
    )


def test_intervals_of_variants_that_ran_in_turn_cover_no_noise(report: Report) -> None:
    kinds = (FindingKind.DRIFT, FindingKind.NOT_INTERLEAVED, FindingKind.COSTLY_TRACER)
    in_turn = replace(report, findings=tuple(Finding(kind, "It is so.", "") for kind in kinds))
    assert say.trust_sentence(in_turn) == (
        "Read before trusting the verdict: drift, not interleaved. About operators and kernels: costly tracer."
    )
    assert say.is_doubt(group_findings(in_turn.findings)[0], in_turn)


def test_every_finding_says_what_it_is_about(report: Report) -> None:
    kinds = (FindingKind.DRIFT, FindingKind.COSTLY_TRACER, FindingKind.PARTITIONS, FindingKind.OUTPUTS_DIFFER)
    groups = group_findings(Finding(kind, "It is so.", "") for kind in kinds)
    assert [say.finding_weight(group, report) for group in groups] == [
        " (noise, which the interval of the speed-up covers)",
        " (about operators and kernels, not the verdict)",
        " (about the model)",
        "",
    ]
    alone = replace(report, comparisons=())
    assert [say.is_doubt(group, alone) for group in groups] == [True, True, False, True]


def test_kinds_of_findings_are_in_one_group_each() -> None:
    groups = (IN_THE_INTERVAL, ABOUT_DETAILS, ABOUT_THE_MODEL)
    assert len(frozenset().union(*groups)) == sum(map(len, groups))


def test_operators_that_became_slower_have_a_sentence(report: Report) -> None:
    comparison = report.comparisons[0]
    assert say.slower_sentence(comparison) == ""
    changes = [
        replace(change, is_slower=True, baseline_ms=1.0, candidate_ms=1.25 + number, module_path="block")
        for number, change in enumerate(comparison.operators[:2])
    ]
    first, second = (f"{change.name} [{change.identity}]" for change in changes)
    assert say.slower_sentence(replace(comparison, operators=tuple(changes[:1]))) == (
        f"Slower: {first} in block (0.80x, +0.250 ms)."
    )
    assert say.slower_sentence(replace(comparison, operators=tuple(changes))) == (
        f"Slower: 2 operators, by 1.50 ms together; most of all {second} in block (0.44x, +1.25 ms)."
    )


def test_findings_of_one_kind_are_one_sentence_with_the_advice_once() -> None:
    findings = [Finding(FindingKind.SPREAD, f"v{i}: 6 %.", "Close programs.") for i in range(8)]
    (group,) = group_findings(findings)
    assert say.finding_title(group) == "8 x spread"
    assert say.finding_sentence(group) == (
        "v0: 6 %; v1: 6 %; v2: 6 %; v3: 6 %; v4: 6 %; v5: 6 %; and 2 more. Close programs."
    )
    (single,) = group_findings(findings[:1])
    assert (say.finding_title(single), say.finding_sentence(single)) == ("spread", "v0: 6 %. Close programs.")
    (long,) = group_findings([Finding(FindingKind.NOTE, text, "") for text in ("One. Two.", "Three.")])
    assert say.finding_sentence(long) == "One. Two. Three."
    (listed,) = group_findings([Finding(FindingKind.DISTURBED, text, "") for text in ("v0: hot; 3 ms.", "v1: hot.")])
    assert say.finding_sentence(listed) == "v0: hot; 3 ms. v1: hot."


def test_a_bound_and_an_estimate_are_told_apart(report: Report) -> None:
    step = replace(report.next_steps[0], saves_ms=1.0, share=0.5)
    assert say.gain_sentence(step) == "at most 1.00 ms (50.0 %), 2.00x overall"
    assert say.gain_sentence(replace(step, is_bound=False)) == "an estimated 1.00 ms (50.0 %), 2.00x overall"


def test_the_place_of_a_hotspot_beside_a_module_reads_as_one(report: Report) -> None:
    variant = report.variants[1]
    places = {}
    for place in ("stem", "before stem", ""):
        rows = tuple(replace(row, module_path=place) for row in variant.layout_changes)
        places[place] = say.layout_sentence(replace(variant, layout_changes=rows)).split("Hotspot: ")[1]
    assert places["stem"].startswith("Transpose (ND, X32) #1 in stem, ")
    assert places["before stem"].startswith("Transpose (ND, X32) #1 before stem, ")
    assert places[""].startswith("Transpose (ND, X32) #1, ")


def test_it_is_said_why_there_is_no_next_step(report: Report) -> None:
    assert "exceeds the noise" in say.no_steps_sentence(report)
    assert "no trace" in say.no_steps_sentence(replace(report, variants=(), comparisons=()))
    assert "emulated" in say.no_steps_sentence(replace(report, times_are_real=False))


def test_data_movement_is_summed_up_with_its_hotspot(report: Report) -> None:
    variant = report.variants[1]
    assert say.layout_sentence(variant) == (
        "on, 1 thread: layout changes and copies take 0.854 ms (43.8 %) of each inference; operators: 3. "
        "Of these transposes: 2, 0.704 ms. Hotspot: Transpose (ND, X32) #1, 0.402 ms (20.6 %)."
    )
    assert say.layout_sentence(replace(variant, layout_changes=())) == ""


def test_what_is_shorter_than_a_microsecond_is_counted_and_not_listed(report: Report) -> None:
    variant = report.variants[1]
    brief = replace(variant.layout_changes[0], mean_ms=0.0004)
    longer = replace(variant, layout_changes=(*variant.layout_changes, brief, brief))
    assert say.measurable(longer).layout_changes == variant.layout_changes
    assert say.rest_sentence(longer, 3) == "2 more are not shown; shorter than a microsecond: 2."
    assert say.rest_sentence(variant, 2) == "1 more is not shown; shorter than a microsecond: 0."
    assert say.rest_sentence(variant, 3) == ""


def test_portable_operators_are_counted(report: Report) -> None:
    variant = report.variants[0]
    assert say.portable_sentence(variant) == "off, 1 thread: 1 of 7 operators not delegated, 0.150 ms (3.1 %)."
    delegated = replace(variant, operators=tuple(row for row in variant.operators if row.delegated))
    assert say.portable_sentence(delegated) == "off, 1 thread: every operator is delegated."


def test_a_setting_names_what_was_hidden_and_the_runner(report: Report) -> None:
    hidden = replace(report.variants[0], features_hidden=("sme", "sme2"))
    assert say.setting_sentence(hidden) == "off, 1 thread: hidden from XNNPACK: sme, sme2; native runner"
    stock = replace(report.variants[1], runner="stock executor_runner")
    assert say.setting_sentence(stock) == "on, 1 thread: nothing hidden; stock executor_runner"


@pytest.mark.parametrize(
    ("change", "text"), [(0.4, "+0.400 ms"), (-2.25, "\u22122.25 ms"), (0.0, "no change"), (-0.00001, "no change")]
)
def test_a_change_has_its_sign_and_one_that_rounds_to_nothing_has_none(change: float, text: str) -> None:
    assert say.format_change_ms(change) == text


def test_modules_are_known_where_an_operator_has_one(report: Report) -> None:
    assert not say.has_graph(report)
    first, *others = report.variants[0].operators
    variant = replace(report.variants[0], operators=(replace(first, module_path="stem"), *others))
    assert say.has_graph(replace(report, variants=(variant, report.variants[1])))


def test_an_emulated_report_says_that_its_kernels_are_real_and_its_times_are_not(tmp_path: Path) -> None:
    report = a_report(tmp_path, device=a_device_info(times_are_real=False))
    assert "the kernels that run are real, the times are not meaningful" in say.EMULATED
    assert {say.median_text(variant, report) for variant in report.variants} == {NO_TIMES}


def test_what_is_saved_once_says_what_of() -> None:
    step = replace(a_step(30.0, 0.75), saved_from=SavedFrom.FIRST_INFERENCE)
    assert say.gain_sentence(step) == "at most 30.00 ms of the first inference (75.0 %)"
    loading = replace(step, saved_from=SavedFrom.LOAD)
    assert say.gain_sentence(loading) == "at most 30.00 ms of the load time (75.0 %)"


def test_advice_on_a_model_has_the_share_of_what_the_graph_tells() -> None:
    step = ModelStep("transposes", "Remove transposes", 0.25, "bytes moved", "Two.", "Keep one layout.")
    assert say.share_sentence(step) == "25.0 % of the bytes moved"
    assert say.share_sentence(replace(step, share=None)) == ""
