"""Linear layers with 4-bit weights in groups for which no SME2 kernel is predicted."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_GROUPWISE = "qbint4"


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and _is_groupwise(each))
    if found:
        why = next((each.prediction.why for each in found if each.prediction and each.prediction.why), "")
        yield Match(
            title="Use 4-bit weights with one scale for each channel",
            reason=f"4-bit weights in groups do not run on the matrix unit. {tell(facts, found)}."
            + (f" {why.rstrip('.')}." if why else ""),
            operators=found,
        )


def _is_groupwise(operator: Operator) -> bool:
    """Only where the probed table of kernels says so: builds of XNNPACK differ in this."""
    types = [tensor.dtype for tensor in operator.node.inputs] if operator.node else []
    return _GROUPWISE in types and operator.is_predicted_other


RULE = Rule(
    id="groupwise-4bit",
    title="Group-wise 4 bit without a kernel",
    looks_at="linear layers with 4-bit weights in groups for which the probed table of kernels predicts no SME2 kernel",
    bound="the time of these operators",
    advice="Quantise with one scale for each output channel, and compare the accuracy.",
    snippet="""\
# etprof export MODEL --quantize --quant-scheme linear-dynamic --weight-bits 4
config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerAxis(0))""",
    about_sme=True,
    find=_find,
)
