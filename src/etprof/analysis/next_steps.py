"""What to do next: each part of an arm's time that somebody could attack, with the most that would be gained."""

from collections.abc import Callable, Iterator, Sequence

from etprof.core.report import (
    DELEGATE_OVERHEAD,
    FRAMEWORK_OVERHEAD,
    ArmReport,
    Comparison,
    NextStep,
    OperatorRow,
    arms_to_improve,
)
from etprof.core.units import format_ms, format_ratio

_WORTHWHILE = 0.01
_MOST = 8
_COMPUTE = ("Convolution", "GEMM")
# An operator counts as left behind when the candidate made it this much faster at most.
_LEFT_BEHIND = 1.1


def find_next_steps(arms: Sequence[ArmReport], comparisons: Sequence[Comparison]) -> tuple[NextStep, ...]:
    """The largest gain first."""
    steps: list[NextStep] = []
    for arm in arms_to_improve(arms, comparisons):
        steps += _steps_of(arm)
        for comparison in comparisons:
            if (comparison.candidate, comparison.threads) == (arm.experiment, arm.threads):
                steps += _left_behind(arm, comparison)
    worthwhile = [step for step in steps if step.share >= _WORTHWHILE]
    return tuple(sorted(worthwhile, key=lambda step: -step.saves_ms)[:_MOST])


def _steps_of(arm: ArmReport) -> Iterator[NextStep]:
    yield from _largest_operator(arm)
    yield from _group(
        arm,
        "Remove transposes",
        lambda row: row.delegated and row.subcategory == "transpose",
        "Keep one memory layout through the model: channels-last inputs, and no operator between that forces a change.",
    )
    yield from _group(
        arm,
        "Move less data",
        lambda row: row.delegated and row.category == "Data Movement" and row.subcategory != "transpose",
        "Look for copies, pads, slices and conversions that the model can do without, or that can be done once.",
    )
    yield from _group(
        arm,
        "Delegate the portable operators",
        lambda row: not row.delegated,
        "Replace them by operators that XNNPACK takes, or pad and reshape so that its partitioner accepts them.",
    )
    yield from _group(
        arm,
        "Cheapen elementwise operators",
        lambda row: row.delegated and row.category == "Elementwise",
        "Use activations that fuse into the operator before them, such as ReLU, in place of those that cannot.",
    )
    yield from _overheads(arm)


def _largest_operator(arm: ArmReport) -> Iterator[NextStep]:
    if arm.operators:
        row = max(arm.operators, key=lambda row: row.mean_ms)
        where = f" in {row.module_path}" if row.module_path else ""
        yield NextStep(
            arm=arm.label,
            title=f"Make {row.name} cheaper",
            saves_ms=row.mean_ms,
            share=row.share,
            reason=f"The longest operator{where}: {format_ms(row.mean_ms)} of each inference.",
            advice="A smaller or quantised layer, or a shape that its kernels like better, is felt here first.",
        )


def _group(arm: ArmReport, title: str, belongs: Callable[[OperatorRow], bool], advice: str) -> Iterator[NextStep]:
    rows = [row for row in arm.operators if belongs(row)]
    if not rows:
        return
    largest = max(rows, key=lambda row: row.mean_ms)
    where = f" ({largest.module_path})" if largest.module_path else ""
    times = f"{len(rows)} operators take" if len(rows) > 1 else "One operator takes"
    saves_ms, share = sum(row.mean_ms for row in rows), sum(row.share for row in rows)
    reason = f"{times} {format_ms(saves_ms)}; the longest is {largest.name}{where} with {format_ms(largest.mean_ms)}."
    yield NextStep(arm.label, title, saves_ms, share, reason, advice)


def _overheads(arm: ArmReport) -> Iterator[NextStep]:
    rows = {row.name: row for row in arm.categories}
    calls = len({row.identity.rpartition(".")[0] for row in arm.operators if row.delegated})
    advice = {
        DELEGATE_OVERHEAD: f"Fewer, larger partitions: delegate calls in an inference: {calls}.",
        FRAMEWORK_OVERHEAD: "Fewer operators outside the delegate: each costs a call through the runtime.",
    }
    for name, what in advice.items():
        if name in rows and rows[name].mean_ms > 0:
            row = rows[name]
            reason = f"Time that no operator owns: {format_ms(row.mean_ms)} of each inference."
            yield NextStep(arm.label, f"Cut the {name.lower()}", row.mean_ms, row.share, reason, what)


def _left_behind(arm: ArmReport, comparison: Comparison) -> Iterator[NextStep]:
    """Compute operators that hardly gained, were they to gain as much as the whole of the compute did."""
    compute = [c for c in comparison.operators if c.category in _COMPUTE and c.speedup is not None]
    before, after = sum(c.baseline_ms or 0 for c in compute), sum(c.candidate_ms or 0 for c in compute)
    behind = [c for c in compute if c.speedup is not None and c.speedup < _LEFT_BEHIND]
    if not behind or not after or before / after < 2 * _LEFT_BEHIND - 1:
        return
    whole_ms = sum(row.mean_ms for row in arm.categories)
    saves_ms = sum((c.candidate_ms or 0) * (1 - after / before) for c in behind)
    yield NextStep(
        arm=arm.label,
        title=f"Find out why {_count(len(behind))} gained nothing",
        saves_ms=saves_ms,
        share=saves_ms / whole_ms if whole_ms else 0.0,
        reason=f"Convolutions and GEMMs together became {format_ratio(before / after)} as fast, but not "
        f"{max(behind, key=lambda c: c.candidate_ms or 0).name}. Counted as saved: the same gain here.",
        advice="See which kernels they execute, and whether their data type or shape has one for this extension.",
    )


def _count(operators: int) -> str:
    return f"{operators} compute operators" if operators > 1 else "one compute operator"
