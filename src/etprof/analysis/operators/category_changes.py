"""Categories before and after: where time went from and to between two variants."""

from etprof.core.report import CategoryChange, VariantReport


def build_category_changes(baseline: VariantReport, candidate: VariantReport) -> tuple[CategoryChange, ...]:
    before = {row.name: row for row in baseline.categories}
    after = {row.name: row for row in candidate.categories}
    return tuple(
        CategoryChange(
            name=name,
            baseline_ms=before[name].mean_ms,
            candidate_ms=after[name].mean_ms,
            baseline_share=before[name].share,
            candidate_share=after[name].share,
        )
        for name in before
        if name in after
    )


def find_bottleneck(variant: VariantReport) -> str:
    """The row that takes the most time; empty where there is no trace."""
    return max(variant.categories, key=lambda row: row.total_ns).name if variant.categories else ""
