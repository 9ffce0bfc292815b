"""Embeddings and indexing that run in the portable kernels."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.undelegated import list_state_changes, measure_around_ms, operator_of, tell_undelegated

_GATHER = "gather or scatter"


def _find(facts: Facts) -> Iterator[Match]:
    of_state = {each.identity for each in list_state_changes(facts)}
    gathers = [each for each in facts.operators if not each.row.delegated and each.row.subcategory == _GATHER]
    found = tuple(each for each in gathers if each.identity not in of_state)
    if found:
        names = ", ".join(dict.fromkeys(operator_of(each.row.name) for each in found))
        yield Match(
            title="Avoid indexing outside of the delegate",
            reason=f"XNNPACK has no {names}. {tell_undelegated(facts, found)}.",
            operators=found,
            extra_ms=measure_around_ms(facts),
        )


RULE = Rule(
    id="portable-gather",
    title="Embedding or index in the portable kernels",
    looks_at="embedding, index, gather and scatter operators, which XNNPACK does not have, but those of state-copies",
    bound="the time of these operators, of calls through the runtime and the delegate, and of data movement with which "
    "delegate calls begin and end",
    advice="Write an index that is known beforehand as slices, or as the step of a convolution. An embedding belongs "
    "at the beginning of the model, where it cuts nothing.",
    snippet="""\
# Before: every second pixel by an index, which is a gather.
even = torch.arange(0, 64, 2)
y = self.convolution_1x1(x[:, :, even][:, :, :, even])
# After: by the step of the 1x1 convolution that follows.
torch.nn.Conv2d(32, 32, 1, stride=2)""",
    find=_find,
)
