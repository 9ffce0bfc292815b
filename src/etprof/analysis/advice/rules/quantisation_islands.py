"""Conversions between data types in the middle of a model."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.categories import DATA_MOVEMENT

_CONVERT = "quantise or convert"
_DYNAMIC = "qdint8"


def _find(facts: Facts) -> Iterator[Match]:
    in_order = sorted((e for e in facts.operators if e.row.delegated), key=lambda each: each.identity.order)
    # What the model reads and returns has a type of its own.
    ends = [*takewhile(_moves_data, in_order), *takewhile(_moves_data, in_order[::-1])]
    converts = [
        at
        for at, each in enumerate(in_order)
        if each.row.subcategory == _CONVERT and each not in ends and not _is_dynamic(facts, each)
    ]
    if converts:
        yield Match(
            title="Keep one data type through the model",
            reason="Values are quantised, dequantised or converted between operators. "
            f"{tell(facts, [in_order[at] for at in converts])}.",
            operators=tuple(_list_islands(in_order, converts)),
        )


def _list_islands(in_order: Sequence[Operator], converts: Sequence[int]) -> Iterator[Operator]:
    """The conversions, what runs between one that leaves the integers and one that returns to them, and the layout
    changes right beside the two: they are there for what runs between."""
    chosen = set(converts)
    for at, following in pairwise(converts):
        call = in_order[at].identity.of_call
        own = [i for i, each in enumerate(in_order) if each.identity.of_call == call]
        if following in own and not _is_quantised(in_order[at]):
            before = takewhile(lambda i: _moves_data(in_order[i]), (i for i in reversed(own) if i < at))
            after = takewhile(lambda i: _moves_data(in_order[i]), (i for i in own if i > following))
            chosen |= {*before, *range(at, following), *after}
    yield from (in_order[at] for at in sorted(chosen))


def _is_quantised(convert: Operator) -> bool:
    """Whether it makes integers; it does not where its node is not known."""
    return bool(convert.node and any(tensor.dtype.startswith("q") for tensor in convert.node.outputs))


def _moves_data(operator: Operator) -> bool:
    return operator.row.category == DATA_MOVEMENT


def _is_dynamic(facts: Facts, operator: Operator) -> bool:
    """Whether it quantises the activations of a dynamic scheme, which is part of that scheme."""
    if operator.node and operator.node.outputs:
        return any(tensor.dtype == _DYNAMIC for tensor in operator.node.outputs)
    meta = facts.background.export_meta
    return bool(meta and meta.quantization and "dynamic" in str(meta.quantization.get("scheme")))


RULE = Rule(
    id="quantisation-islands",
    title="Quantise and dequantise in the middle of a model",
    looks_at="conversions between data types in the delegate, other than at the input and output of the model; the "
    "activations of a dynamic scheme do not count",
    bound="the time of these conversions, of what runs between one that leaves the integers and one that returns, and "
    "of the layout changes right beside the two",
    advice="Replace the operators between them that have no quantised form, or leave a short quantised stretch in "
    "fp32.",
    snippet="""\
# Before: the quantiser has no rule for the division and leaves it in fp32 between two convolutions.
y = self.second(self.first(x) / self.temperature)
# After: the factor is part of the weights, and everything stays INT8.
first.weight.data /= temperature
first.bias.data /= temperature""",
    find=_find,
)
