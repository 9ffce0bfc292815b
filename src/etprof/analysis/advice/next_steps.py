"""What to do next: each part of a variant's time that could be reduced, with the most that would be gained."""

from collections.abc import Callable, Iterator, Sequence

from etprof.core.categories import COMPUTE, DATA_MOVEMENT, DELEGATE_OVERHEAD, ELEMENTWISE, FRAMEWORK_OVERHEAD
from etprof.core.report import Comparison, NextStep, VariantReport, variants_to_improve
from etprof.core.rows import OperatorRow
from etprof.core.units import format_ms, format_ratio

_WORTHWHILE = 0.01
_MOST = 8
# An operator counts as left behind when the candidate made it this much faster at most.
_LEFT_BEHIND = 1.1


def find_next_steps(variants: Sequence[VariantReport], comparisons: Sequence[Comparison]) -> tuple[NextStep, ...]:
    """The largest gain first."""
    steps: list[NextStep] = []
    for variant in variants_to_improve(variants, comparisons):
        steps += _steps_of(variant)
        for comparison in comparisons:
            if comparison.candidate == variant.variant:
                steps += _left_behind(variant, comparison)
    worthwhile = [step for step in steps if step.share >= _WORTHWHILE]
    return tuple(sorted(worthwhile, key=lambda step: -step.saves_ms)[:_MOST])


def _steps_of(variant: VariantReport) -> Iterator[NextStep]:
    yield from _largest_operator(variant)
    yield from _group(
        variant,
        "Remove transposes",
        lambda row: row.delegated and row.subcategory == "transpose",
        "Keep one memory layout through the model: channels-last inputs, and no operator that forces a change.",
    )
    yield from _group(
        variant,
        "Move less data",
        lambda row: row.delegated and row.category == DATA_MOVEMENT and row.subcategory != "transpose",
        "Remove copies, pads, slices and conversions that the model does not need, or do them once.",
    )
    yield from _group(
        variant,
        "Delegate the portable operators",
        lambda row: not row.delegated,
        "Replace them with operators that XNNPACK supports, or pad and reshape so that its partitioner accepts them.",
    )
    yield from _group(
        variant,
        "Reduce elementwise operators",
        lambda row: row.delegated and row.category == ELEMENTWISE,
        "Use activations that fuse into the operator before them, such as ReLU, instead of those that cannot.",
    )
    yield from _overheads(variant)


def _largest_operator(variant: VariantReport) -> Iterator[NextStep]:
    if variant.operators:
        row = max(variant.operators, key=lambda row: row.mean_ms)
        where = f" in {row.module_path}" if row.module_path else ""
        yield NextStep(
            variant=variant.variant,
            title=f"Make {row.name} faster",
            saves_ms=row.mean_ms,
            share=row.share,
            reason=f"The longest operator{where}: {format_ms(row.mean_ms)} of each inference.",
            advice="A smaller or quantised layer, or a shape with an efficient kernel, has the largest effect here.",
        )


def _group(
    variant: VariantReport, title: str, belongs: Callable[[OperatorRow], bool], advice: str
) -> Iterator[NextStep]:
    rows = [row for row in variant.operators if belongs(row)]
    if not rows:
        return
    largest = max(rows, key=lambda row: row.mean_ms)
    where = f" ({largest.module_path})" if largest.module_path else ""
    times = f"{len(rows)} operators take" if len(rows) > 1 else "One operator takes"
    saves_ms, share = sum(row.mean_ms for row in rows), sum(row.share for row in rows)
    reason = f"{times} {format_ms(saves_ms)}; the longest is {largest.name}{where} with {format_ms(largest.mean_ms)}."
    yield NextStep(variant.variant, title, saves_ms, share, reason, advice)


def _overheads(variant: VariantReport) -> Iterator[NextStep]:
    rows = {row.name: row for row in variant.categories}
    calls = len({row.identity.of_call for row in variant.operators if row.delegated})
    advice = {
        DELEGATE_OVERHEAD: f"Use fewer, larger partitions. Delegate calls per inference: {calls}.",
        FRAMEWORK_OVERHEAD: "Use fewer operators outside the delegate: each costs a call through the runtime.",
    }
    for name, what in advice.items():
        if name in rows and rows[name].mean_ms > 0:
            row = rows[name]
            reason = f"Time outside of operators: {format_ms(row.mean_ms)} of each inference."
            yield NextStep(variant.variant, f"Cut the {name.lower()}", row.mean_ms, row.share, reason, what)


def _left_behind(variant: VariantReport, comparison: Comparison) -> Iterator[NextStep]:
    """Compute operators that hardly gained, were they to gain as much as the whole of the compute did."""
    compute = [c for c in comparison.operators if c.category in COMPUTE and c.speedup is not None]
    before, after = sum(c.baseline_ms or 0 for c in compute), sum(c.candidate_ms or 0 for c in compute)
    behind = [c for c in compute if c.speedup is not None and c.speedup < _LEFT_BEHIND]
    if not behind or not after or before / after < 2 * _LEFT_BEHIND - 1:
        return
    whole_ms = sum(row.mean_ms for row in variant.categories)
    saves_ms = sum((c.candidate_ms or 0) * (1 - after / before) for c in behind)
    yield NextStep(
        variant=variant.variant,
        title=f"Find out why {_count(len(behind))} gained nothing",
        saves_ms=saves_ms,
        share=saves_ms / whole_ms if whole_ms else 0.0,
        reason=f"Convolutions and GEMMs together became {format_ratio(before / after)} as fast, but not "
        f"{max(behind, key=lambda c: c.candidate_ms or 0).name}. The estimate assumes the same gain here.",
        advice="See which kernels they execute, and whether their data type or shape has one for this extension.",
    )


def _count(operators: int) -> str:
    return f"{operators} compute operators" if operators > 1 else "one compute operator"
