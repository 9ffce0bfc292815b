"""Categories before and after: where time went from and to between two arms."""

from etprof.core.report import ArmReport, CategoryShift


def build_category_shifts(baseline: ArmReport, candidate: ArmReport) -> tuple[CategoryShift, ...]:
    before = {row.name: row for row in baseline.categories}
    after = {row.name: row for row in candidate.categories}
    return tuple(
        CategoryShift(
            name=name,
            baseline_ms=before[name].mean_ms,
            candidate_ms=after[name].mean_ms,
            baseline_share=before[name].share,
            candidate_share=after[name].share,
        )
        for name in before
        if name in after
    )


def find_bottleneck(arm: ArmReport) -> str:
    """The row that takes the most time; empty where there is no trace."""
    return max(arm.categories, key=lambda row: row.total_ns).name if arm.categories else ""
