"""What to do next: each part of a variant's time that could be reduced, with what that would save."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from etprof.analysis.advice.certainty import lowest_ms, smallest_visible_ms, tracer_ms
from etprof.analysis.advice.left_behind import find_left_behind
from etprof.core.categories import DATA_MOVEMENT, DELEGATE_OVERHEAD, ELEMENTWISE, FRAMEWORK_OVERHEAD
from etprof.core.data_types import find_data_type
from etprof.core.operators import OperatorId, group_by_call
from etprof.core.report import Comparison, NextStep, VariantReport, variants_to_improve
from etprof.core.rows import OperatorRow
from etprof.core.units import format_ms

_WORTHWHILE = 0.01
_MOST = 8
_TRANSPOSE = "transpose"
# Covered by steps of their own.
_NOT_COMPUTE = (DATA_MOVEMENT, ELEMENTWISE)


def find_next_steps(variants: Sequence[VariantReport], comparisons: Sequence[Comparison]) -> tuple[NextStep, ...]:
    """The largest gain first; nothing that could not be told from noise."""
    by_variant = {each.variant: each for each in variants}
    worthwhile: list[NextStep] = []
    for variant in variants_to_improve(variants, comparisons):
        steps = [*_steps_of(variant)]
        for comparison in comparisons:
            if comparison.candidate == variant.variant and comparison.baseline in by_variant:
                steps += find_left_behind(by_variant[comparison.baseline], variant, comparison)
        smallest_ms = smallest_visible_ms(variant)
        worthwhile += [step for step in steps if step.share >= _WORTHWHILE and step.saves_ms >= smallest_ms]
    return tuple(sorted(worthwhile, key=lambda step: -step.saves_ms)[:_MOST])


def _steps_of(variant: VariantReport) -> Iterator[NextStep]:
    rows = [row for row in variant.operators if row.delegated]
    cancelling = {change.identity for pair in variant.cancelling for change in (pair.first, pair.second)}
    yield from _largest_kind(variant)
    yield from _largest_operator(variant)
    yield from _cancelling_transposes(variant, cancelling)
    yield from _group(
        variant,
        "Remove the other transposes" if cancelling else "Remove transposes",
        [row for row in rows if row.subcategory == _TRANSPOSE and row.identity not in cancelling],
        "Keep one memory layout through the model: channels-last inputs, and no operator that forces a change.",
    )
    yield from _group(
        variant,
        "Move less data",
        [row for row in rows if row.category == DATA_MOVEMENT and row.subcategory != _TRANSPOSE],
        "Remove copies, pads, slices and conversions that the model does not need, or do them once.",
    )
    yield from _delegate_portable(variant)
    yield from _group(
        variant,
        "Reduce elementwise operators",
        [row for row in rows if row.category == ELEMENTWISE],
        "Use activations that fuse into the operator before them, such as ReLU, instead of those that cannot.",
    )
    yield from _overheads(variant)


def _list_computing(variant: VariantReport) -> list[OperatorRow]:
    return [row for row in variant.operators if row.delegated and row.category not in _NOT_COMPUTE]


def _largest_kind(variant: VariantReport) -> Iterator[NextStep]:
    """Many operators of a kind may take the time that none of them takes alone."""
    kinds: dict[str, list[OperatorRow]] = {}
    for row in _list_computing(variant):
        kinds.setdefault(row.kind, []).append(row)
    several = [(kind, rows) for kind, rows in kinds.items() if kind and len(rows) > 1]
    for kind, rows in sorted(several, key=lambda item: -sum(row.mean_ms for row in item[1]))[:1]:
        title = f"Make the {len(rows)} operators of kind {kind} faster"
        yield from _group(
            variant, title, rows, "Layers of another kind, or fewer of them, have the largest effect here."
        )


def _largest_operator(variant: VariantReport) -> Iterator[NextStep]:
    computing = _list_computing(variant)
    if not computing:
        return
    row = max(computing, key=lambda row: row.mean_ms)
    if lowest_ms([row]) < smallest_visible_ms(variant):
        return
    longest = max(variant.operators, key=lambda row: row.mean_ms)
    which = "The longest operator" if row is longest else f"The longest {row.category} operator"
    smaller = "A smaller layer" if "int8" in find_data_type(row.name) else "A smaller or quantised layer"
    where = f" in {row.module_path}" if row.module_path else ""
    yield NextStep(
        variant=variant.variant,
        title=f"Make {row.name} faster",
        saves_ms=row.mean_ms,
        share=row.share,
        reason=f"{which}{where}: {format_ms(row.mean_ms)} of each inference.",
        advice=f"{smaller}, or a shape with an efficient kernel, has the largest effect here.",
    )


def _cancelling_transposes(variant: VariantReport, cancelling: set[OperatorId]) -> Iterator[NextStep]:
    """What the graph proves to be removable: it is known which transposes undo each other, and where."""
    rows = [row for row in variant.operators if row.identity in cancelling]
    if not rows or lowest_ms(rows) < smallest_visible_ms(variant):
        return
    largest = max(variant.cancelling, key=lambda pair: pair.saves_ms)
    places = list(dict.fromkeys(filter(None, (largest.first.module_path, largest.second.module_path))))
    where = f" ({', '.join(places)})" if places else ""
    count = len(variant.cancelling)
    pairs = f"{count} pairs of transposes cancel" if count > 1 else "One pair of transposes cancels"
    each = "the longest are" if count > 1 else "they are"
    yield NextStep(
        variant=variant.variant,
        title="Remove the transposes that cancel each other",
        saves_ms=sum(row.mean_ms for row in rows),
        share=sum(row.share for row in rows),
        reason=f"{pairs} each other, shown by {largest.evidence}: {format_ms(sum(row.mean_ms for row in rows))}; "
        f"{each} {largest.first.name} and {largest.second.name}{where} with {format_ms(largest.saves_ms)}.",
        advice="Keep one layout between the two, so that neither is needed; `etprof trace transposes` lists each pair.",
    )


def _group(variant: VariantReport, title: str, rows: Sequence[OperatorRow], advice: str) -> Iterator[NextStep]:
    if not rows or lowest_ms(rows) < smallest_visible_ms(variant):
        return
    saves_ms, share = sum(row.mean_ms for row in rows), sum(row.share for row in rows)
    reason = f"{_times(rows)}; {_longest(variant, rows)}."
    yield NextStep(variant.variant, title, saves_ms, share, reason, advice)


def _delegate_portable(variant: VariantReport) -> Iterator[NextStep]:
    """Bounded by the operators and what they cause: runtime calls, delegate calls and layout changes at each cut."""
    rows = [row for row in variant.operators if not row.delegated]
    if not rows:
        return
    causes = [FRAMEWORK_OVERHEAD, DELEGATE_OVERHEAD] if _count_calls(variant) > 1 else [FRAMEWORK_OVERHEAD]
    caused = [(row.mean_ms, row.share) for row in variant.categories if row.name in causes]
    if _count_calls(variant) > 1:
        caused += [(row.mean_ms, row.share) for row in _list_edge_moves(variant)]
    around_ms = sum(ms for ms, _ in caused)
    them = "them" if len(rows) > 1 else "it"
    yield NextStep(
        variant=variant.variant,
        title="Delegate the portable operators" if len(rows) > 1 else "Delegate the portable operator",
        saves_ms=sum(row.mean_ms for row in rows) + around_ms,
        share=sum(row.share for row in rows) + sum(share for _, share in caused),
        reason=f"{_times(rows)}, calls and layout changes around {them} {format_ms(around_ms)}; "
        f"{_longest(variant, rows)}.",
        advice=f"Replace {them} with what XNNPACK supports, or pad and reshape so that its partitioner accepts {them}.",
    )


def _list_edge_moves(variant: VariantReport) -> list[OperatorRow]:
    """Data movement with which delegate calls begin and end."""
    edges: dict[OperatorId, OperatorRow] = {}
    for rows in group_by_call([row for row in variant.operators if row.delegated]).values():
        for side in (rows, rows[::-1]):
            edges |= {row.identity: row for row in takewhile(lambda row: row.category == DATA_MOVEMENT, side)}
    return list(edges.values())


def _overheads(variant: VariantReport) -> Iterator[NextStep]:
    """Only where there is a call to save; what the tracer adds is no time of the model's."""
    rows = {row.name: row for row in variant.categories}
    calls, portable = _count_calls(variant), any(not row.delegated for row in variant.operators)
    advice = {}
    if calls > 1:
        advice[DELEGATE_OVERHEAD] = f"Use fewer, larger partitions. Delegate calls per inference: {calls}."
    if portable:
        advice[FRAMEWORK_OVERHEAD] = "Use fewer operators outside the delegate: each costs a call through the runtime."
    for name, what in advice.items():
        if name in rows and rows[name].mean_ms > tracer_ms(variant):
            row = rows[name]
            reason = f"Time outside of operators: {format_ms(row.mean_ms)} of each inference."
            yield NextStep(variant.variant, f"Cut the {name.lower()}", row.mean_ms, row.share, reason, what)


def _count_calls(variant: VariantReport) -> int:
    """Delegate calls of an inference."""
    calls: dict[int, set[int]] = {}
    for row in variant.operators:
        if row.delegated:
            calls.setdefault(row.identity.kind or 0, set()).add(row.identity.call)
    return max(map(len, calls.values()), default=0)


def _times(rows: Sequence[OperatorRow]) -> str:
    count = f"{len(rows)} operators take" if len(rows) > 1 else "One operator takes"
    return f"{count} {format_ms(sum(row.mean_ms for row in rows))}"


def _longest(variant: VariantReport, rows: Sequence[OperatorRow]) -> str:
    """The longest of them and where it is, which the layout changes know better than the operators."""
    longest = max(rows, key=lambda row: row.mean_ms)
    places = {change.identity: change.module_path for change in variant.layout_changes}
    place = places.get(longest.identity) or longest.module_path
    where = f" ({place})" if place else ""
    if len(rows) == 1:
        return f"it is {longest.name}{where}"
    return f"the longest is {longest.name}{where} with {format_ms(longest.mean_ms)}"
