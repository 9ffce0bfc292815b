"""The sentences of a report, the same in every format."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from etprof.core.advice import ModelStep, SavedFrom
from etprof.core.estimates import Interval, Verdict
from etprof.core.findings import ABOUT_DETAILS, ABOUT_THE_MODEL, IN_THE_INTERVAL, FindingGroup, FindingKind
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.report import CategoryChange, Comparison, NextStep, Report, VariantReport
from etprof.core.rows import NO_MODULE, ApartRow, KernelUse
from etprof.core.units import NO_TIMES, NS_PER_MS, NS_PER_US, format_count, format_ms, format_percent, format_ratio

EMULATED = "This device is emulated: the kernels that run are real, the times are not meaningful and not shown."
NO_PAIR = "Nothing is compared here: the plan names no pair."
NO_TRACE = "Not measured: where the time goes. No block of this run recorded a trace; give the experiments traced runs."
NO_KERNELS = (
    "Not measured: which kernels executed. "
    "An experiment whose `mode` is `trace` in the plan samples the program counter."
)
NO_GRAPH = (
    "Modules, shapes and bytes are unknown: there is no graph.json beside the model. "
    "Export it with `etprof export MODEL` and run it again."
)
NO_DOUBT = "None: nothing in the data casts doubt on the numbers."

_MICROSECOND_MS = NS_PER_US / NS_PER_MS
_MOST_MESSAGES = 6
_MODULES = 3


def verdict_sentence(comparison: Comparison) -> str:
    """What the comparison says, with its interval, in one sentence."""
    who = comparison.title
    if comparison.speedup is None:
        return f"{who}: {comparison.verdict.value}; {comparison.reason}."
    interval = comparison.speedup
    bounds = f"{format_ratio(interval.low)} to {format_ratio(interval.high)}"
    numbers = f"{format_ratio(interval.value)} ({format_percent(interval.confidence, 0)} interval {bounds})"
    if comparison.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return f"{who}: {comparison.verdict.value}, speed-up {numbers}."
    return f"{who}: {comparison.verdict.value}, speed-up {numbers}; {comparison.reason}."


def noise_sentence(comparison: Comparison) -> str:
    if comparison.noise_floor is None:
        return ""
    return f"Noise floor: {format_percent(comparison.noise_floor)}."


def medians_sentence(comparison: Comparison, report: Report) -> str:
    """Why the medians that are shown have another ratio than the speed-up; empty where they have not."""
    latencies = [report.of(side).latency for side in comparison.sides]
    medians = [latency.median_ms for latency in latencies if latency]
    if comparison.speedup is None or len(medians) != 2 or not medians[1]:
        return ""
    ratio = format_ratio(medians[0] / medians[1])
    if ratio == format_ratio(comparison.speedup.value):
        return ""
    return f"Ratio of the medians: {ratio}; the speed-up is of neighbouring blocks, so that a drift cancels."


def bottleneck_sentence(comparison: Comparison) -> str:
    """The bottleneck before and after, with their shares, and what it is now; empty where a trace is missing."""
    shares = {shift.name: shift for shift in comparison.categories}
    before, after = shares.get(comparison.bottleneck_before), shares.get(comparison.bottleneck_after)
    if before is None or after is None:
        return ""
    longest = _longest_kind(comparison, after.name)
    if before is after:
        return (
            f"Bottleneck: {before.name} before ({format_percent(before.baseline_share)} of the time) "
            f"and after ({format_percent(after.candidate_share)}).{longest}"
        )
    return f"The bottleneck moves from {before.name} ({_shift(before)}) to {after.name} ({_shift(after)}).{longest}"


def slower_sentence(comparison: Comparison) -> str:
    """Operators that became slower, and the worst of them; empty where there is none."""
    slower = [change for change in comparison.operators if change.is_slower]
    if not slower:
        return ""
    worst = min(slower, key=lambda change: change.gain_ms)
    where = f" [{worst.identity}]{f' in {worst.module_path}' if worst.module_path else ''}"
    ratio = f"{format_ratio(worst.speedup)}, " if worst.speedup else ""
    lost = format_ms(-sum(change.gain_ms for change in slower))
    if len(slower) == 1:
        return f"Slower: {worst.name}{where} ({ratio}{format_change_ms(-worst.gain_ms)})."
    return (
        f"Slower: {len(slower)} operators, by {lost} together; most of all {worst.name}{where} "
        f"({ratio}{format_change_ms(-worst.gain_ms)})."
    )


def modules_sentence(comparison: Comparison) -> str:
    """The modules that take most time now; empty where none is known."""
    rows = [change.candidate for change in comparison.rollups.get("module", ()) if change.candidate]
    named = [f"{row.name} {format_percent(row.share)}" for row in rows if row.name != NO_MODULE][:_MODULES]
    rest = [
        f"; {format_percent(row.share)} in no module" for row in rows if row.name == NO_MODULE and row.share >= 0.05
    ]
    return f"{', '.join(named)} of the time{''.join(rest)}." if named else ""


def _longest_kind(comparison: Comparison, category: str) -> str:
    """The kind of layer that takes most time of a category now, after a space; empty where none is known."""
    shares: dict[str, float] = {}
    for change in comparison.operators:
        if change.category == category and change.kind:
            shares[change.kind] = shares.get(change.kind, 0.0) + (change.candidate_share or 0.0)
    longest = max(shares, key=lambda kind: shares[kind], default="")
    return f" Above all: {longest} ({format_percent(shares[longest])})." if longest else ""


def missing_latency(variant: VariantReport, report: Report) -> str:
    """What stands in place of a variant's latency."""
    if not report.times_are_real:
        return NO_TIMES
    if variant.evidence:
        return "sampled for its kernels, not timed"
    return "traced only, not timed" if variant.accounting else "no successful block"


def timing_mode(variants: Sequence[VariantReport]) -> str:
    """Whether a tracer was on while the variants were timed: a stock runner that has one leaves no choice."""
    modes = {variant.latency.is_traced for variant in variants if variant.latency}
    return "traced and untraced" if len(modes) > 1 else "traced" if True in modes else "untraced"


def list_sampled(report: Report) -> list[VariantReport]:
    """Variants with kernel evidence, those whose extension was hidden last."""
    sampled = [variant for variant in report.variants if variant.evidence]
    return sorted(sampled, key=lambda variant: variant.evidence is not None and variant.evidence.shown is False)


def share_caption(evidence: KernelEvidence) -> str:
    """What the columns of a table of sampled operators count."""
    return (
        f"Share: samples in functions of ExecuTorch's libraries that use {evidence.extension}, of all active samples "
        "of the operator; those of the C library do not count. Instructions: what was executing at the samples."
    )


def sampling_sentence(evidence: KernelEvidence) -> str:
    """How many samples there are, and what became of the others."""
    return (
        f"Active samples: {evidence.samples} ({evidence.outside} outside of any operator); waiting: "
        f"{evidence.waiting}; dropped: {evidence.dropped}; threads: {evidence.sampled_threads}. "
        f"{shown_phrase(evidence)}."
    )


def shown_phrase(evidence: KernelEvidence) -> str:
    """Whether the kernels could use the extension, without a full stop."""
    if evidence.shown is None:
        return f"Whether {evidence.extension} was shown is not known"
    return f"{evidence.extension} was {'shown to' if evidence.shown else 'hidden from'} the kernels"


def kernels_text(kernels: Sequence[KernelUse]) -> str:
    return "; ".join(f"{k.name or 'unnamed'} ({k.instruction_class}, {k.samples})" for k in kernels) or "none sampled"


def instructions_text(instructions: Mapping[str, int]) -> str:
    ranked = sorted(instructions.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count}" for name, count in ranked)


def interval_text(interval: Interval | None) -> str:
    if interval is None:
        return "unknown"
    return (
        f"{format_percent(interval.value, 0)} ({format_percent(interval.low, 0)} to {format_percent(interval.high, 0)})"
    )


def median_text(variant: VariantReport, report: Report) -> str:
    return format_ms(variant.latency.median_ms) if variant.latency else missing_latency(variant, report)


def speedup_text(comparison: Comparison) -> str:
    if comparison.speedup is None:
        return "n/a"
    interval = comparison.speedup
    return f"{format_ratio(interval.value)} ({format_ratio(interval.low)} to {format_ratio(interval.high)})"


def trust_sentence(report: Report) -> str:
    """Whether there is reason to doubt the numbers, and what of the findings does not touch the verdict."""
    compared = [comparison for comparison in report.comparisons if comparison.speedup]
    noise, details = _apart_from_verdicts(report)
    kinds = [finding.kind for finding in report.findings]
    doubts = _kinds([kind for kind in kinds if kind not in noise | details | ABOUT_THE_MODEL])
    covered = _kinds([kind for kind in kinds if kind in noise])
    subject = "numbers" if not compared else "verdict" if len(compared) == 1 else "verdicts"
    none = f"Nothing in the data casts doubt on the {subject}"
    trust = f"Read before trusting the {subject}: {doubts}" if doubts else none
    noise_part = f" Noise, which the interval covers: {covered}." if covered else ""
    about = {
        "About operators and kernels": [kind for kind in kinds if kind in details],
        "About the model": [kind for kind in kinds if kind in ABOUT_THE_MODEL],
    }
    return f"{trust}.{noise_part}" + "".join(f" {what}: {_kinds(own)}." for what, own in about.items() if own)


def is_doubt(group: FindingGroup, report: Report) -> bool:
    """Whether it is a reason to doubt the verdicts; without one, the latencies."""
    return not finding_weight(group, report)


def finding_weight(group: FindingGroup, report: Report) -> str:
    """What it is about, in parentheses after a space; empty for a reason to doubt."""
    noise, details = _apart_from_verdicts(report)
    weights = {
        " (about the model)": ABOUT_THE_MODEL,
        " (noise, which the interval of the speed-up covers)": noise,
        " (about operators and kernels, not the verdict)": details,
    }
    return next((text for text, kinds in weights.items() if group.kind in kinds), "")


def _apart_from_verdicts(report: Report) -> tuple[frozenset[FindingKind], frozenset[FindingKind]]:
    """The kinds of noise that intervals cover, and those about operators and kernels; none where nothing is compared.

    An interval of variants that ran one after the other covers no noise: a drift looks like a difference there.
    """
    if not any(comparison.speedup for comparison in report.comparisons):
        return frozenset(), frozenset()
    in_turn = any(finding.kind is FindingKind.NOT_INTERLEAVED for finding in report.findings)
    return frozenset() if in_turn else IN_THE_INTERVAL, ABOUT_DETAILS


def finding_sentence(group: FindingGroup) -> str:
    """What was seen and, once for all of it, what to do."""
    return " ".join(filter(None, (messages_text(group), group.advice)))


def messages_text(group: FindingGroup) -> str:
    """Messages of one sentence each become one sentence."""
    shown = list(group.messages[:_MOST_MESSAGES])
    rest = len(group.messages) - len(shown)
    if any(mark in message for message in shown for mark in (". ", ";", "\n")):
        return " ".join([*shown, *([f"And {rest} more."] if rest else [])])
    return "; ".join([*(message.removesuffix(".") for message in shown), *([f"and {rest} more"] if rest else [])]) + "."


def finding_title(group: FindingGroup) -> str:
    """The kind, and how many there are where there are several."""
    return f"{len(group.messages)} x {group.kind}" if len(group.messages) > 1 else str(group.kind)


def no_steps_sentence(report: Report) -> str:
    """Why there is no next step."""
    if not report.times_are_real:
        return "No next steps: an emulated device gives no times."
    if any(variant.operators for variant in report.to_improve):
        return "No next steps: none of the possible savings exceeds the noise of the measurement."
    return "No next steps: no trace shows where the time goes."


def gain_sentence(step: NextStep) -> str:
    """The saving as time, as a share, and as what the whole inference would gain (Amdahl's law)."""
    amount = "at most" if step.is_bound else "an estimated"
    if step.saved_from != SavedFrom.INFERENCE:
        return f"{amount} {format_ms(step.saves_ms)} of the {step.saved_from.value} ({format_percent(step.share)})"
    overall = f", {format_ratio(1 / (1 - step.share))} overall" if step.share < 1 else ""
    return f"{amount} {format_ms(step.saves_ms)} ({format_percent(step.share)}){overall}"


def share_sentence(step: ModelStep) -> str:
    """What part of a model without a run the advice is about; empty where the graph does not tell."""
    return "" if step.share is None else f"{format_percent(step.share)} of the {step.measure}"


def layout_sentence(variant: VariantReport, unit: str = "inference") -> str:
    """The layout churn of a variant and its hotspot; empty where there is none."""
    rows = variant.layout_changes
    if not rows:
        return ""
    transposes = [row for row in rows if row.kind == "transpose"]
    hotspot = max(rows, key=lambda row: row.mean_ms)
    # An operator without a module of its own is placed before or after that of a neighbour.
    is_beside = hotspot.module_path.startswith(("before ", "after "))
    where = f" {'' if is_beside else 'in '}{hotspot.module_path}" if hotspot.module_path else ""
    return (
        f"{variant.label}: layout changes and copies take {format_ms(sum(row.mean_ms for row in rows))} "
        f"({format_percent(sum(row.share for row in rows))}) of each {unit}; operators: {len(rows)}. "
        f"Of these transposes: {len(transposes)}, {format_ms(sum(row.mean_ms for row in transposes))}. "
        f"Hotspot: {hotspot.name}{where}, {format_ms(hotspot.mean_ms)} ({format_percent(hotspot.share)})."
    )


def measurable(variant: VariantReport) -> VariantReport:
    """The variant without layout changes that take less than the microsecond XNNPACK counts in."""
    return replace(
        variant,
        layout_changes=tuple(row for row in variant.layout_changes if row.mean_ms >= _MICROSECOND_MS),
        cancelling=tuple(pair for pair in variant.cancelling if pair.saves_ms >= _MICROSECOND_MS),
    )


def rest_sentence(variant: VariantReport, shown: int) -> str:
    """What a table of layout changes leaves out; empty if nothing."""
    rest = len(variant.layout_changes) - shown
    brief = len(variant.layout_changes) - len(measurable(variant).layout_changes)
    verb = "is" if rest == 1 else "are"
    return f"{rest} more {verb} not shown; shorter than a microsecond: {brief}." if rest else ""


def has_graph(report: Report) -> bool:
    """Whether modules, or at least shapes, are known: the .pte of somebody else has a graph without modules."""
    return any(row.module_path or row.work for variant in report.variants for row in variant.operators)


def portable_sentence(variant: VariantReport) -> str:
    rows = [row for row in variant.operators if not row.delegated]
    if not rows:
        return f"{variant.label}: every operator is delegated."
    return (
        f"{variant.label}: {len(rows)} of {format_count(len(variant.operators), 'operator')} not delegated, "
        f"{format_ms(sum(row.mean_ms for row in rows))} ({format_percent(sum(row.share for row in rows))})."
    )


def setting_sentence(variant: VariantReport) -> str:
    hidden = (
        f"hidden from XNNPACK: {', '.join(variant.features_hidden)}" if variant.features_hidden else "nothing hidden"
    )
    runner = variant.runner if variant.runner.endswith("runner") else f"{variant.runner} runner"
    options = f"; load options {variant.load_options.replace(',', ', ')}" if variant.load_options else ""
    return f"{variant.label}: {hidden}; {runner}{options}"


def format_change_ms(change_ms: float) -> str:
    """With its sign; one that rounds to nothing has none."""
    text = format_ms(abs(change_ms))
    if not any(digit in text for digit in "123456789"):
        return "no change"
    return ("+" if change_ms > 0 else "\u2212") + text


def _shift(row: CategoryChange) -> str:
    return f"{format_percent(row.baseline_share)} of the time before, {format_percent(row.candidate_share)} after"


def _kinds(kinds: Sequence[FindingKind]) -> str:
    return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in Counter(kinds).items())


def apart_value(row: ApartRow) -> str:
    """How long an event took that is in no sum; units of a clock of its own are never called a time."""
    return f"{row.mean_ticks:,.0f} ticks" if row.mean_ms is None else format_ms(row.mean_ms)
