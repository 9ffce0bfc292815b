"""Elementwise operators one after the other, each of which reads and writes the whole tensor."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.categories import ELEMENTWISE

_SHORTEST = 3


def _find(facts: Facts) -> Iterator[Match]:
    chains = [chain for chain in _list_chains(facts) if len(chain) >= _SHORTEST]
    found = tuple(each for chain in chains for each in chain)
    if found:
        count = f"{len(chains)} chains" if len(chains) > 1 else "One chain"
        yield Match(
            title="Shorten the chains of elementwise operators",
            reason=f"{count} of up to {max(map(len, chains))} elementwise operators, each of which reads and writes "
            f"the whole tensor. {tell(facts, found)}.",
            operators=found,
        )


def _list_chains(facts: Facts) -> Iterator[list[Operator]]:
    """By data flow: each member reads what the one before it made, through transposes that the lowering inserted."""
    in_order = sorted(facts.operators, key=lambda each: each.identity.order)
    chain: list[Operator] = []
    made: set[int | None] = set()
    for each in (each for each in in_order if each.row.delegated and each.node):
        reads = bool(chain) and _reads(each, chain[-1], made)
        if reads and each.row.subcategory == "transpose":
            made |= _list_made(each)
            continue
        if not reads or each.row.category != ELEMENTWISE:
            yield chain
            chain = []
        if each.row.category == ELEMENTWISE:
            chain.append(each)
            made = _list_made(each)
    yield chain


def _reads(operator: Operator, before: Operator, made: set[int | None]) -> bool:
    if operator.identity.of_call != before.identity.of_call or not operator.node:
        return False
    # A clamp that was split off has the node of its operator.
    return operator.node is before.node or bool(made & {tensor.id for tensor in operator.node.inputs})


def _list_made(operator: Operator) -> set[int | None]:
    return {tensor.id for tensor in operator.node.outputs} - {None} if operator.node else set()


RULE = Rule(
    id="elementwise-chains",
    title="Chains of elementwise operators",
    looks_at="three or more elementwise operators in a row in the delegate, by data flow; XNNPACK fuses none of them",
    bound="the time of the operators of these chains",
    advice="Use the operator that XNNPACK has for the whole, fold scales and offsets into the weights before them, or "
    "compute constants beforehand.",
    snippet="""\
# Before: four operators.
y = (self.convolution(x) - self.mean) * self.scale * self.weight + self.bias
# After: none, since each is linear and part of the convolution.
convolution = torch.nn.utils.fusion.fuse_conv_bn_eval(convolution, batch_norm)
y = self.convolution(x)""",
    find=_find,
)
