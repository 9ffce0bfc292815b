"""Matrix products of which both sides are computed: nothing can be packed beforehand."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.1
_EVENTS = ("Batch Matrix Multiply", "Dynamic Fully Connected")
_NODES = ("XNNBatchMatrixMultiply", "XNNFullyConnected")


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and _is_dynamic(each))
    if found and facts.share_of(found) >= _LARGE:
        yield Match(
            title="Give matrix products constant weights",
            reason=f"Both sides of the product are computed, so that the right one is packed again in each inference. "
            f"{tell(facts, found)}.",
            operators=found,
        )


def _is_dynamic(operator: Operator) -> bool:
    if not operator.node:
        return operator.row.name.startswith(_EVENTS)
    return operator.node.type in _NODES and not any(tensor.constant for tensor in operator.node.inputs[:2])


RULE = Rule(
    id="dynamic-matmul",
    title="Matrix products with computed weights",
    looks_at="batch matrix multiplies and linear layers in the delegate without a constant operand, if they take 10 % "
    "of an inference or more",
    bound="the time of these operators",
    advice="Where the right-hand side does not depend on the input, make it a weight of a linear layer, which is "
    "packed once. In attention reduce the number of keys.",
    snippet="""\
# Before: the product of two parameters is computed in each inference.
y = x @ (self.a @ self.b)
# After: it is computed once and is the weight of a linear layer.
self.linear.weight = torch.nn.Parameter((a @ b).T)
y = self.linear(x)""",
    find=_find,
)
