"""Why a model takes the kernels it does, in tables and sentences: the same in the console, in Markdown and in HTML."""

from collections.abc import Iterator, Sequence

from etprof.core.advice import ModelStep
from etprof.core.explanation import Explanation, KernelCheck, KernelGroup, LeftGroup
from etprof.core.predictions import PROBE_COMMAND, CpuLevel
from etprof.core.report import NextStep
from etprof.core.units import format_count, format_percent
from etprof.reports import sentences
from etprof.reports.text_table import Column, TextTable, render_table, wrap

LEVELS = tuple(CpuLevel)
_UNKNOWN = "unknown"
_NAMED = 3
_INDENT = "    "


def render(explanation: Explanation, width: int | None, *, all_groups: bool = False) -> str:
    """For a terminal of this width, None for any; layers that multiply no matrices only with `all_groups`."""
    groups = [group for group in explanation.groups if group.is_compute or all_groups]
    parts = [f"{wrap(sentence, width)}\n" for sentence in list_opening(explanation)]
    if groups:
        parts.append("\n" + render_table(_build_table(explanation, groups), width))
    parts += [_paragraph(lines, width) for lines in list_reasons(explanation)]
    parts += [_paragraph(lines, width) for lines in list_left(explanation)]
    parts += [f"\n{wrap(sentence, width)}\n" for sentence in list_checks(explanation)]
    return "".join(parts)


def list_opening(explanation: Explanation) -> Iterator[str]:
    """What is explained, and what the answers rest on."""
    delegated = [node for node in explanation.nodes if node.is_delegated]
    partitions = len({node.partition for node in delegated})
    outside = len(explanation.nodes) - len(delegated)
    method = f", {explanation.method}" if explanation.method else ""
    yield (
        f"{explanation.model}{method}: {format_count(len(delegated), 'node')} in "
        f"{format_count(partitions, 'partition')}, {format_count(outside, 'operator')} outside of the delegate."
    )
    yield table_sentence(explanation)


def table_sentence(explanation: Explanation) -> str:
    if not explanation.executorch:
        return (
            "The kernels of this version of ExecuTorch are unknown: no table of them is stored. "
            f"Probe them in a copy of the repository: {PROBE_COMMAND}"
        )
    unknown = sum(group.count for group in explanation.groups if group.is_compute and None in group.families.values())
    also = f" Not in the table: {format_count(unknown, 'layer')}." if unknown else ""
    return (
        f"Kernels that XNNPACK of executorch {explanation.executorch} takes on Arm CPUs, as probed under emulation."
        f"{also}"
    )


def share_heading(explanation: Explanation) -> str:
    """What the shares of the groups are shares of."""
    return "time" if explanation.variant else "MACs"


def share_text(explanation: Explanation, group: KernelGroup) -> str:
    share = group.share if explanation.variant else group.macs_share
    return "" if share is None else format_percent(share)


def family_text(group: KernelGroup, level: CpuLevel) -> str:
    return group.families.get(level) or _UNKNOWN


def layers_text(group: KernelGroup) -> str:
    return f"{group.kind}, {group.data_type}" if group.data_type else group.kind


def _build_table(explanation: Explanation, groups: Sequence[KernelGroup]) -> TextTable:
    return TextTable(
        "",
        [
            Column("layers", [layers_text(group) for group in groups]),
            Column("count", [str(group.count) for group in groups], right=True),
            Column(share_heading(explanation), [share_text(explanation, group) for group in groups], 1, right=True),
            *(Column(level, [family_text(group, level) for group in groups], 2) for level in LEVELS),
            Column("obstacle", [group.obstacle for group in groups], 3),
        ],
    )


def list_reasons(explanation: Explanation) -> Iterator[list[str]]:
    """For each reason why convolutions and products do not take the best kernels: their part, and what lifts it."""
    reasons: dict[tuple[str, str], list[KernelGroup]] = {}
    for group in explanation.groups if explanation.executorch else ():
        if group.is_compute and group.why:
            reasons.setdefault((group.why, group.change), []).append(group)
    for (why, change), groups in reasons.items():
        count = format_count(sum(group.count for group in groups), "layer")
        share = _sum_shares(explanation, groups)
        of = f", {share} of the {share_heading(explanation)}" if share else ""
        lines = [f"{_name_kinds(groups)} ({count}{of}): {why}"]
        lines += [f"Change: {change}"] if change else []
        modules = [name for group in groups for name in group.modules]
        shapes = [shape for group in groups for shape in group.shapes]
        yield [*lines, *_list_places(modules, shapes)]


def _name_kinds(groups: Sequence[KernelGroup]) -> str:
    kinds = list(dict.fromkeys(layers_text(group) for group in groups))
    return f"{kinds[0]} and {format_count(len(kinds) - 1, 'more kind')}" if len(kinds) > 1 else kinds[0]


def _sum_shares(explanation: Explanation, groups: Sequence[KernelGroup]) -> str:
    shares = [group.share if explanation.variant else group.macs_share for group in groups]
    known = [share for share in shares if share is not None]
    return format_percent(sum(known)) if len(known) == len(shares) else ""


def list_left(explanation: Explanation) -> Iterator[list[str]]:
    """For each operator outside of the delegate: why it was left out, and what to write instead."""
    for group in explanation.left:
        lines = [left_sentence(group)]
        lines += [f"Change: {group.advice}"] if group.advice else []
        lines += [f"Instead of `{group.before}` write `{group.instead}`."] if group.instead else []
        yield [*lines, *_list_places(group.modules, group.shapes)]


def left_sentence(group: LeftGroup) -> str:
    share = f", {format_percent(group.share)} of the time" if group.share else ""
    what = f"{group.operator} ({format_count(group.count, 'operator')}, {group.data_type}{share})"
    return f"{what} is not delegated: {group.reason.rstrip('.')}."


def list_checks(explanation: Explanation) -> Iterator[str]:
    """What was predicted against what each sampled variant executed."""
    for check in explanation.checks:
        yield f"{check.variant.label} on a CPU with {check.level}: {_tell_check(check)}"
        for each in check.disagreements:
            place = f" ({each.module_path})" if each.module_path else ""
            yield f"  {each.name}{place}: {each.predicted} predicted, {each.executed} executed"


def next_step_text(step: NextStep) -> str:
    return f"{step.title}: {sentences.gain_sentence(step)}. {step.reason} {step.advice} Rule: {step.rule}."


def model_step_text(step: ModelStep) -> str:
    share = sentences.share_sentence(step)
    return f"{step.title}{f': {share}' if share else ''}. {step.reason} {step.advice} Rule: {step.rule}."


def _tell_check(check: KernelCheck) -> str:
    decided = check.agreed + len(check.disagreements)
    open_ones = {
        "with too few samples": check.undecided,
        "not in the table": check.unpredicted,
        "without a certain node": check.unmatched,
    }
    rest = ", ".join(f"{count} {what}" for what, count in open_ones.items() if count)
    return f"{check.agreed} of {decided} compute operators executed what was predicted{f'; {rest}' if rest else ''}."


def _list_places(modules: Sequence[str], shapes: Sequence[str]) -> Iterator[str]:
    if modules:
        yield f"Modules: {_some(modules)}"
    if shapes:
        yield f"Shapes: {_some(shapes)}"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _paragraph(lines: Sequence[str], width: int | None) -> str:
    first, *others = lines
    said = [wrap(first, width, "  "), *(wrap(f"  {line}", width, _INDENT) for line in others)]
    return "\n" + "\n".join(said) + "\n"
