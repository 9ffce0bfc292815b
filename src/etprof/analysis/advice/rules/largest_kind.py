"""The kind of layer that takes most time: many operators may take what none of them takes alone."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.wording import count_operators, tell
from etprof.core.categories import DATA_MOVEMENT, ELEMENTWISE
from etprof.core.data_types import find_data_type

_SHRINK = "Fewer layers or channels, or layers of another kind, have the largest effect here."


def _find(facts: Facts) -> Iterator[Match]:
    kinds: dict[str, list[Operator]] = {}
    for each in facts.unclaimed:
        if each.row.delegated and each.row.category not in (DATA_MOVEMENT, ELEMENTWISE):
            kinds.setdefault(each.row.kind, []).append(each)
    several = [(kind, operators) for kind, operators in kinds.items() if kind and len(operators) > 1]
    for kind, operators in sorted(several, key=lambda item: -facts.share_of(item[1]))[:1]:
        is_int8 = all("int8" in find_data_type(each.row.name) for each in operators)
        yield Match(
            title=f"Shrink{'' if is_int8 else ' or quantise'} the {kind} layers ({count_operators(operators)})",
            reason=f"{tell(facts, operators)}.",
            operators=tuple(operators),
            advice=_SHRINK if is_int8 else "",
        )


RULE = Rule(
    id="largest-kind",
    title="The kind of layer that takes most time",
    looks_at="operators of one kind of layer together; data movement and elementwise operators have rules of their own",
    bound="the time of these operators",
    advice=f"{_SHRINK} So does INT8; `etprof explore MODEL` measures what it brings and what it costs.",
    snippet="""\
# Fewer channels where accuracy allows it: a convolution costs channels in times channels out.
torch.nn.Conv2d(64, 64, 3, padding=1)  # 36,864 multiply-accumulates for each output pixel
torch.nn.Conv2d(48, 48, 3, padding=1)  # 20,736""",
    level=Level.GENERAL,
    find=_find,
)
