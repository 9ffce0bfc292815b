"""Depthwise convolutions that take a large share of an inference."""

from collections.abc import Iterator, Sequence

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.units import format_rate
from etprof.core.work import rate_gmac_per_s

_LARGE = 0.2
# How XNNPACK's depthwise kernels are called in a trace. There are some for windows of 3, 4, 9 and 25 values.
_KERNEL = "DWConv"
_SMALLER = "Use smaller windows, or fewer channels where the image is large."
_EARLY = (
    "Early blocks can do without: a plain 3x3 convolution in place of the 1x1 expansion and the depthwise one runs on "
    "the matrix unit."
)


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and "depthwise" in each.row.kind)
    if not found or facts.share_of(found) < _LARGE:
        return
    general = [each for each in found if _KERNEL not in each.row.name] if facts.variant else []
    why = "and therefore no kernel for SME" if facts.has_sme else "so each value that is read is used a few times only"
    yield Match(
        title="Reduce the depthwise convolutions",
        reason=f"Depthwise convolutions have no matrix product, {why}. {tell(facts, found)}."
        f"{_compare(general, [each for each in found if each not in general])}",
        operators=found,
        advice="" if facts.has_sme and not general else _advise(facts, general),
    )


def _advise(facts: Facts, general: Sequence[Operator]) -> str:
    windows = "Use windows of at most 5x5, or fewer channels where the image is large." if general else _SMALLER
    return f"{windows} {_EARLY}" if facts.has_sme else windows


def _compare(general: Sequence[Operator], own: Sequence[Operator]) -> str:
    """What operators that execute a general kernel lose against those that execute a depthwise one."""
    if not general:
        return ""
    rates = [_rate(each) for each in (general, own)]
    slow, fast = (f" ({rate} GMAC/s)" if rate else "" for rate in rates)
    others = f"; the others do{fast}" if own else ""
    return (
        f" {len(general)} of them execute a general kernel and no depthwise one{slow}{others}: "
        "XNNPACK has none for windows of more than 25 values, nor for several outputs of a channel."
    )


def _rate(operators: Sequence[Operator]) -> str:
    works = [each.row.work for each in operators]
    macs = sum(work.macs or 0 for work in works if work)
    rate = rate_gmac_per_s(macs, sum(each.row.mean_ms for each in operators)) if all(works) else None
    return format_rate(rate)


RULE = Rule(
    id="depthwise-share",
    title="Depthwise convolutions",
    looks_at="depthwise convolutions that take 20 % of an inference or more",
    bound="the time of these operators",
    advice=f"{_SMALLER} {_EARLY}",
    snippet="""\
# Before: a window of 49 values for each channel.
torch.nn.Conv2d(96, 96, 7, padding=3, groups=96)
# After: a window of 9.
torch.nn.Conv2d(96, 96, 3, padding=1, groups=96)""",
    find=_find,
)
