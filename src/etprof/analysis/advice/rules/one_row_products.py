"""Linear layers that are given one row: a matrix product becomes a product with a vector."""

from collections.abc import Iterator
from math import prod

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.1
_LINEAR = "linear"


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and _has_one_row(each))
    if found and facts.share_of(found) >= _LARGE:
        yield Match(
            title="Give linear layers more than one row",
            reason=f"With one row each weight is read for one multiplication, and the memory limits the speed. "
            f"{tell(facts, found)}.",
            operators=found,
        )


def _has_one_row(operator: Operator) -> bool:
    work = operator.row.work
    return work is not None and work.kind == _LINEAR and bool(work.input_shape) and prod(work.input_shape[:-1]) == 1


RULE = Rule(
    id="one-row-products",
    title="Static shapes that turn GEMM into GEMV",
    looks_at="linear layers in the delegate whose input has one row, if they take 10 % of an inference or more",
    bound="the time of these operators",
    advice="Process several rows at once: all tokens in one product, or several inputs in one inference. For single "
    "rows 4-bit or INT8 weights help most, because fewer bytes are read.",
    snippet="""\
# Before: one product with a vector for each of 16 tokens.
y = torch.stack([self.linear(token) for token in x.unbind(1)], dim=1)
# After: one product with a matrix.
y = self.linear(x)""",
    find=_find,
)
