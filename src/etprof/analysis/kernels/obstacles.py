"""What keeps a case from the matrix unit: the nearest probed case that uses it, and the property the two differ in."""

from collections.abc import Callable
from dataclasses import dataclass

from etprof.analysis.kernels.cases import DEPTHWISE, GROUPED, MANY_TAPS, ONE_ROW, TRANSPOSED, describe_case
from etprof.core.predictions import SME2, CpuLevel, KernelCase, KernelTable, Obstacle

# The properties of a case, and what changing each of them costs at least: the cheapest first.
_WEIGHTS, _SHAPE, _CONSTANT, _TYPES, _OPERATOR = "weights", "shape", "constant weights", "data types", "operator"
# What users call the types of inputs, and what exports a model with them.
_TYPE_WORDS = {"qint8": "static INT8", "qdint8": "dynamic INT8"}
_EXPORTS = {"fp32": "--dtype fp32", "fp16": "--dtype fp16", "qint8": "--quantize"}
# A row that differs in more than this is another layer.
_FARTHEST = 2


@dataclass(frozen=True)
class ObstacleRule:
    """One row of the table: which property differs, and in which cases; `why` and `change` are sentences.

    In both, {case} and {better} stand for the two cases, {inputs} and {other} for the types of their inputs in words,
    and {export} for the option that exports the better one.
    """

    obstacle: Obstacle
    differs: str
    applies: Callable[[KernelCase], bool]
    why: str
    change: str


@dataclass(frozen=True)
class FoundObstacle:
    obstacle: Obstacle
    why: str
    change: str


# The first that fits holds: in the order of what the change costs.
OBSTACLES = (
    ObstacleRule(
        Obstacle.PER_TENSOR,
        _WEIGHTS,
        lambda case: case.weights == "qint8",
        "Its INT8 weights have one scale for the whole tensor; with one for each channel it executes SME2.",
        "Quantise per channel: --quantize --quant-granularity per_channel.",
    ),
    ObstacleRule(
        Obstacle.GROUP_WISE,
        _WEIGHTS,
        lambda case: case.weights == "qbint4",
        "Its 4-bit weights are stored in groups, each with its scale; with 8-bit weights per channel it executes SME2.",
        "Quantise the layer with 8-bit weights per channel: --quantize --quant-scheme linear-dynamic --weight-bits 8.",
    ),
    ObstacleRule(
        Obstacle.WEIGHT_TYPE,
        _WEIGHTS,
        lambda case: case.inputs == "fp16" and case.weights == "fp32",
        "Its weights are stored as fp32, as those of every convolution in fp16; with fp16 weights it executes SME2.",
        "Write a 1x1 convolution as a linear layer on data with the channels last: its weights are stored as fp16.",
    ),
    ObstacleRule(
        Obstacle.WEIGHT_TYPE,
        _WEIGHTS,
        lambda _: True,
        "Its weights have type {case.weights}; with weights of type {better.weights} it executes SME2.",
        "Export the layer with weights of that type.",
    ),
    ObstacleRule(
        Obstacle.ONE_ROW,
        _SHAPE,
        lambda case: case.shape == ONE_ROW,
        "It multiplies a single row, which is a product of a matrix and a vector; with several rows it executes SME2.",
        "Process several rows in one inference: a larger batch, or several tokens or positions at a time.",
    ),
    ObstacleRule(
        Obstacle.SHAPE,
        _SHAPE,
        lambda _: True,
        "Its shape ({case.shape}) has no SME2 kernel; the same layer with {better.shape} executes it.",
        "Change the layer's shape.",
    ),
    ObstacleRule(
        Obstacle.DYNAMIC_WEIGHTS,
        _CONSTANT,
        lambda case: not case.constant_weights,
        "Both of its operands are computed; with constant weights it executes SME2.",
        "Make the right-hand operand a parameter of the model where it does not depend on the input.",
    ),
    ObstacleRule(
        Obstacle.TRANSPOSED,
        _TYPES,
        lambda case: case.operator == TRANSPOSED,
        "Transposed convolutions in {inputs} have no SME2 kernel; in {other} they have one.",
        "Export it in {other} ({export}), or write it as a resize and a convolution.",
    ),
    ObstacleRule(
        Obstacle.DATA_TYPE,
        _TYPES,
        lambda _: True,
        "This layer has no SME2 kernel in {inputs}; in {other} it executes SME2.",
        "Export it in {other}: {export}.",
    ),
    ObstacleRule(
        Obstacle.DEPTHWISE,
        _OPERATOR,
        lambda case: case.operator == DEPTHWISE and case.shape == MANY_TAPS,
        "Depthwise convolutions have no SME2 kernel in any data type that was probed. Above 25 taps they have none "
        "of their own either: every channel runs as a product by itself.",
        "A window of at most 25 taps, such as 5x5, executes a depthwise kernel of vector instructions.",
    ),
    ObstacleRule(
        Obstacle.DEPTHWISE,
        _OPERATOR,
        lambda case: case.operator == DEPTHWISE,
        "Depthwise convolutions have no SME2 kernel in any data type that was probed: each output sums over one "
        "channel, which is no matrix product.",
        "",
    ),
    ObstacleRule(
        Obstacle.GROUPED,
        _OPERATOR,
        lambda case: case.operator == GROUPED,
        "Grouped convolutions of this type have no SME2 kernel; with one group it executes SME2.",
        "Use one group where the additional multiplications are worth it, or split it into convolutions of one group.",
    ),
    ObstacleRule(
        Obstacle.TRANSPOSED,
        _OPERATOR,
        lambda case: case.operator == TRANSPOSED,
        "Transposed convolutions of this kind have no SME2 kernel; convolutions do.",
        "Write it as a resize and a convolution.",
    ),
)


def find_obstacle(case: KernelCase, table: KernelTable) -> FoundObstacle:
    """What the nearest case that executes SME2 differs in; of several equally near the one that is cheapest to get."""
    able = [row.case for row in table.rows if row.families.get(CpuLevel.SME2) == SME2]
    for distance in range(1, _FARTHEST + 1):
        near = [other for other in able if len(list_differences(case, other)) == distance]
        ways = [way for other in near if len(way := _find_way(case, other)) == distance]
        if ways:
            return _join(case, min(ways, key=lambda way: _order(case, way)))
    return FoundObstacle(
        Obstacle.NOT_PACKED,
        f"XNNPACK packs no {case.operator} with inputs of type {case.inputs} and weights of type {case.weights} "
        "for the matrix unit, and no layer close to it.",
        "",
    )


def _find_way(case: KernelCase, other: KernelCase) -> list[tuple[ObstacleRule, KernelCase]]:
    """For each property that differs the first rule about it, in the order of the table."""
    found: dict[str, ObstacleRule] = {}
    for rule in OBSTACLES:
        if rule.differs in list_differences(case, other) and rule.applies(case):
            found.setdefault(rule.differs, rule)
    return [(rule, other) for rule in found.values()]


def _order(case: KernelCase, way: list[tuple[ObstacleRule, KernelCase]]) -> tuple[list[int], bool]:
    """Of equal changes, one that keeps the type of the weights costs least."""
    return [OBSTACLES.index(rule) for rule, _ in way], way[0][1].weights != case.weights


def _join(case: KernelCase, way: list[tuple[ObstacleRule, KernelCase]]) -> FoundObstacle:
    """One rule speaks for itself. Where several properties differ, none of them alone would change the kernel."""
    first, better = way[0]
    words = {
        "case": case,
        "better": better,
        "inputs": _TYPE_WORDS.get(case.inputs, case.inputs),
        "other": _TYPE_WORDS.get(better.inputs, better.inputs),
        "export": _EXPORTS.get(better.inputs, better.inputs),
    }
    change = " ".join(rule.change for rule, _ in way if rule.change).format(**words)
    if len(way) == 1:
        return FoundObstacle(first.obstacle, first.why.format(**words), change)
    properties = " and ".join(rule.differs for rule, _ in way)
    why = f"The nearest layer that executes SME2 differs in {properties}: {describe_case(better)}."
    return FoundObstacle(first.obstacle, why, change)


def list_differences(case: KernelCase, other: KernelCase) -> frozenset[str]:
    """The properties two cases differ in; what follows from another one that differs is not counted."""
    found = set()
    if case.operator != other.operator:
        found.add(_OPERATOR)
    elif case.shape != other.shape:
        found.add(_SHAPE)
    if (case.inputs, case.outputs) != (other.inputs, other.outputs):
        found.add(_TYPES)
    elif case.weights != other.weights:
        found.add(_WEIGHTS)
    if case.constant_weights != other.constant_weights:
        found.add(_CONSTANT)
    return frozenset(found)
