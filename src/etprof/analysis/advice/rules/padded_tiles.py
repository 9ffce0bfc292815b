"""Layers whose output channels do not fill the tiles of the matrix unit."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.units import format_percent

# Bits of a vector in streaming mode, of every CPU with SME2 that is known; the system's own number is better.
_USUAL_BITS = 512
# A tile of KleidiAI's kernels is two vectors of 32-bit sums wide.
_VECTORS, _SUM_BITS = 2, 32
_LARGE = 0.15
_TYPES = ("XNNConv2d", "XNNFullyConnected")


def _find(facts: Facts) -> Iterator[Match]:
    device = facts.background.device
    tile = _VECTORS * ((device.sme_vector_bits if device else None) or _USUAL_BITS) // _SUM_BITS
    waste = {each.identity: _find_waste(each, tile) for each in facts.operators}
    found = tuple(each for each in facts.operators if waste[each.identity] >= _LARGE)
    if not found:
        return
    weights = [each.row.mean_ms or (each.row.work.macs if each.row.work else 0) or 0 for each in found]
    whole = sum(weights)
    part = sum(waste[e.identity] * weight for e, weight in zip(found, weights, strict=True)) / whole if whole else 0.0
    worst = max(found, key=lambda each: waste[each.identity])
    yield Match(
        title=f"Use multiples of {tile} output channels",
        reason=f"A tile of the matrix unit has {tile} columns, and {format_percent(part, 0)} of those that are "
        f"computed "
        f"here are padding; most in {worst.row.module_path or worst.row.name}, which has {_count_outputs(worst)} "
        f"output "
        f"channels. {tell(facts, found)}.",
        operators=found,
        part=part,
    )


def _find_waste(operator: Operator, tile: int) -> float:
    outputs = _count_outputs(operator)
    return 1 - outputs / (-(-outputs // tile) * tile) if outputs else 0.0


def _count_outputs(operator: Operator) -> int:
    """0 for an operator that is no plain matrix product."""
    node = operator.node
    if node is None or node.type not in _TYPES or not node.outputs or (node.window and node.window.groups > 1):
        return 0
    return node.outputs[0].shape[-1] if node.outputs[0].shape else 0


RULE = Rule(
    id="padded-tiles",
    title="Channels that are no multiple of the tile",
    looks_at="convolutions and linear layers in the delegate whose tiles are 15 % padding or more; a tile is two "
    "vectors wide, and a vector is assumed to have 512 bits where the system does not report it",
    bound="the padded part of the time of these operators",
    advice="Round the number of output channels to a multiple of the tile: up for the same time, down for less.",
    snippet="""\
# Before: 40 channels are computed as 64.
torch.nn.Conv2d(32, 40, 1)
# After: nothing is wasted.
torch.nn.Conv2d(32, 32, 1)""",
    about_sme=True,
    find=_find,
)
