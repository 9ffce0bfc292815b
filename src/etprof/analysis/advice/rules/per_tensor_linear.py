"""INT8 linear layers whose weights have one scale for the whole tensor."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_TYPES = ("XNNFullyConnected", "XNNConv2d")
_PER_TENSOR = "qint8"


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and _is_per_tensor(each))
    if found:
        yield Match(
            title="Quantise the weights of linear layers per channel",
            reason=f"XNNPACK packs INT8 layers for SME2 only with one scale for each output channel; these have one "
            f"for "
            f"the whole tensor. {tell(facts, found)}.",
            operators=found,
        )


def _is_per_tensor(operator: Operator) -> bool:
    """A linear layer or a 1x1 convolution, which is one; not where a kernel for SME2 is predicted after all."""
    node = operator.node
    if node is None or node.type not in _TYPES or operator.is_predicted_sme2:
        return False
    weight = next((tensor for tensor in node.inputs if tensor.constant and len(tensor.shape) > 1), None)
    window = node.window.kernel if node.window else (1, 1)
    return weight is not None and weight.dtype == _PER_TENSOR and set(window) == {1}


RULE = Rule(
    id="per-tensor-linear",
    title="Per-tensor INT8 linear layers",
    looks_at="INT8 linear layers and 1x1 convolutions in the delegate whose weights have one scale for the whole "
    "tensor",
    bound="the time of these operators",
    advice="Export with weights quantised per channel, for which there are SME2 kernels; accuracy is better as well.",
    snippet="""\
# etprof export MODEL --quantize --quant-scheme static --quant-granularity per_channel
config = get_symmetric_quantization_config(is_per_channel=True)""",
    about_sme=True,
    find=_find,
)
