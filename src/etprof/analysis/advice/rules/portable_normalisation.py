"""Layer and group normalisations that run outside of the delegate."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.undelegated import measure_around_ms, operator_of, tell_undelegated


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(
        each for each in facts.operators if not each.row.delegated and each.row.subcategory == "normalisation"
    )
    if found:
        names = ", ".join(dict.fromkeys(operator_of(each.row.name) for each in found))
        yield Match(
            title="Delegate the normalisations",
            reason=f"XNNPACK has no {names}. {tell_undelegated(facts, found)}.",
            operators=found,
            extra_ms=measure_around_ms(facts),
        )


RULE = Rule(
    id="portable-normalisation",
    title="Normalisations outside of the delegate",
    looks_at="layer, group and batch normalisations outside of the delegate",
    bound="the time of these operators, of calls through the runtime and the delegate, and of data movement with which "
    "delegate calls begin and end",
    advice="Write the normalisation with operators that XNNPACK takes: its means as products with constant weights. "
    "Where the model allows it, batch normalisation after a convolution costs nothing.",
    snippet="""\
class DelegatedLayerNorm(torch.nn.Module):
    def __init__(self, norm: torch.nn.LayerNorm):
        super().__init__()
        width = norm.normalized_shape[0]
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps
        self.register_buffer("mean", torch.full((1, width), 1 / width))

    def forward(self, x):
        centred = x - torch.nn.functional.linear(x, self.mean)
        variance = torch.nn.functional.linear(centred * centred, self.mean)
        return centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias""",
    find=_find,
)
