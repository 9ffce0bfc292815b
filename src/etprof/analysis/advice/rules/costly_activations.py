"""Activations that do not fuse into the operator before them: GELU, SiLU, hardswish and others."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.03
_EVENTS = ("GELU", "ApproxGELU", "HardSwish", "Sigmoid", "TanH", "ELU", "Invalid Unary Op")
_SIGMOID = "XNNSigmoid"


def _find(facts: Facts) -> Iterator[Match]:
    delegated = [each for each in facts.operators if each.row.delegated]
    found = [each for each in delegated if each.row.name.startswith(_EVENTS)]
    found += [each for each in delegated if _gates(each, found)]
    if found and facts.share_of(found) >= _LARGE:
        yield Match(
            title="Use cheaper activations",
            reason=f"GELU, SiLU, hardswish and their like are operators of their own. {tell(facts, found)}.",
            operators=tuple(found),
        )


def _gates(operator: Operator, activations: list[Operator]) -> bool:
    """Whether it is the product of SiLU: of a sigmoid and what the sigmoid read."""
    if operator.node is None or operator.node.type != "XNNMultiply":
        return False
    read = {tensor.id for tensor in operator.node.inputs} - {None}
    sigmoids = [each.node for each in activations if each.node and each.node.type == _SIGMOID]
    return any({node.inputs[0].id, node.outputs[0].id} <= read for node in sigmoids if node.inputs and node.outputs)


RULE = Rule(
    id="costly-activations",
    title="Hardswish, GELU and SiLU",
    looks_at="activations in the delegate that are operators of their own, and the product that belongs to a SiLU",
    bound="the time of these operators",
    advice="ReLU and ReLU6 fuse into the convolution or linear layer before them and cost nothing; the model has to be "
    "trained with them.",
    snippet="""\
# Before: an operator of its own, with an exponential function.
block = torch.nn.Sequential(torch.nn.Conv2d(32, 32, 1), torch.nn.GELU())
# After: part of the convolution.
block = torch.nn.Sequential(torch.nn.Conv2d(32, 32, 1), torch.nn.ReLU())""",
    find=_find,
)
