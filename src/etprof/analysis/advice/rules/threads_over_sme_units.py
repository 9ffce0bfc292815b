"""More threads than there are units that execute SME."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.categories import COMPUTE
from etprof.core.report import VariantReport
from etprof.core.scaling import ScalingCurve
from etprof.core.units import format_count, format_ms


def _find(facts: Facts) -> Iterator[Match]:
    device, variant = facts.background.device, facts.variant
    units = device.sme_units if device else None
    if variant is None or units is None or not units.is_shared or variant.threads <= units.count:
        return
    sharing = f"{format_count(variant.threads, 'thread')} share {format_count(units.count, 'SME unit')}"
    scaling = facts.background.scaling
    curve = next((c for c in scaling.curves if c.experiment == variant.experiment), None) if scaling else None
    if curve:
        yield from _find_measured(curve, variant, sharing)
        return
    found = tuple(each for each in facts.operators if each.row.delegated and each.row.category in COMPUTE)
    if found:
        yield Match(title="Try fewer threads", reason=f"{sharing}. {tell(facts, found)}.", operators=found)


def _find_measured(curve: ScalingCurve, variant: VariantReport, sharing: str) -> Iterator[Match]:
    """The difference to the best thread count, which was measured and is no bound."""
    if curve.best >= variant.threads or curve.best in curve.undecided:
        return
    now, best = curve.point(variant.threads).latency_ms, curve.point(curve.best).latency_ms
    yield Match(
        title=f"Use {format_count(curve.best, 'thread')} instead of {variant.threads}",
        reason=f"{sharing}. An inference takes {format_ms(now)}, and {format_ms(best)} with {curve.best}.",
        extra_ms=now - best,
        whole_ms=now,
        is_bound=False,
    )


RULE = Rule(
    id="threads-over-sme-units",
    title="More threads than SME units",
    looks_at="the thread count of the run, and the units that execute SME, where several cores share one",
    bound="the time of convolutions and GEMMs; where several thread counts were measured, the difference to the best",
    advice="Measure the thread counts against each other: `etprof profile MODEL --threads auto`.",
    snippet="""\
// As many threads as the best count that was measured.
executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(2);""",
    needs_run=True,
    about_sme=True,
    find=_find,
)
