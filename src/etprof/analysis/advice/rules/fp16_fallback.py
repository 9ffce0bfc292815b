"""Operators of an fp16 model that fall out of the delegate because of their data type."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.undelegated import (
    find_reason,
    measure_around_ms,
    operator_of,
    tell_reason,
    tell_undelegated,
)

# What XNNPACK's partitioner takes in fp32 and refuses in fp16.
_FP32_ONLY = frozenset({"gelu"})


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if not each.row.delegated and _falls_out(facts, each))
    if found:
        names = ", ".join(dict.fromkeys(operator_of(each.row.name) for each in found))
        yield Match(
            title=f"Keep {names} in the delegate in fp16",
            reason=f"XNNPACK takes {names} in fp32 and not in fp16. {tell_undelegated(facts, found)}."
            f"{tell_reason(facts, operator_of(found[0].row.name))}",
            operators=found,
            extra_ms=measure_around_ms(facts),
        )


def _falls_out(facts: Facts, operator: Operator) -> bool:
    name = operator_of(operator.row.name)
    if name not in _FP32_ONLY and "fp16" not in find_reason(facts, name):
        return False
    if operator.node and operator.node.outputs:
        return operator.node.outputs[0].dtype in ("float16", "fp16")
    meta = facts.background.export_meta
    return meta is not None and meta.precision == "fp16"


RULE = Rule(
    id="fp16-fallback",
    title="fp16 operators that fall out of the delegate",
    looks_at="operators outside of the delegate that compute in fp16 and that XNNPACK takes in fp32",
    bound="the time of these operators, of calls through the runtime and the delegate, and of data movement with which "
    "delegate calls begin and end",
    advice="Write the function with operators that XNNPACK takes in fp16: GELU in its tanh form, spelled out.",
    snippet="""\
class TanhGelu(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


# In place of torch.nn.GELU() in a model that is exported with --dtype fp16.""",
    find=_find,
)
