"""What an operator has to do, whatever the machine: its kind of layer, shapes, multiply-accumulates and bytes."""

from dataclasses import dataclass
from typing import TypedDict

# An operator that takes less than the microsecond XNNPACK counts in has no rate: it would be noise.
SHORTEST_RATED_MS = 0.001
_MACS_PER_GMAC = 1e9
_MS_PER_S = 1e3


@dataclass(frozen=True)
class Work:
    """Shapes are in the order of dimensions of whoever runs the operator: XNNPACK's channels are last.

    `weight_shape` is empty for an operator without weights. `macs` are 0 for an operator that multiplies nothing.
    `minimal_bytes` are those of each input, weight and output moved once. `flops` and `integer_operations` count two
    for a multiply-accumulate and one for an activation; an operator has one kind of them, by its `data_type`. All of
    these are None where they are not known.
    """

    kind: str
    input_shape: tuple[int, ...]
    weight_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    macs: int | None
    minimal_bytes: int | None
    flops: int | None = None
    integer_operations: int | None = None
    data_type: str = ""

    @property
    def operations(self) -> int | None:
        if self.flops is None or self.integer_operations is None:
            return None
        return self.flops + self.integer_operations

    @property
    def shapes(self) -> str:
        """1x56x56x48 * 1x7x7x48 -> 1x56x56x48; empty where no shape is known."""
        read = " * ".join(format_shape(shape) for shape in (self.input_shape, self.weight_shape) if shape)
        return " -> ".join(part for part in (read, format_shape(self.output_shape)) if part)


class WorkFields(TypedDict):
    """The work of an operator in the columns of a table."""

    input_shape: str
    weight_shape: str
    output_shape: str
    macs: int | None
    minimal_bytes: int | None


def describe_work(work: Work | None) -> WorkFields:
    """Empty where nothing is known."""
    return WorkFields(
        input_shape=format_shape(work.input_shape) if work else "",
        weight_shape=format_shape(work.weight_shape) if work else "",
        output_shape=format_shape(work.output_shape) if work else "",
        macs=work.macs if work else None,
        minimal_bytes=work.minimal_bytes if work else None,
    )


def format_shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def rate_gmac_per_s(macs: int | None, time_ms: float | None) -> float | None:
    """None where nothing is multiplied, or where the time is too short to divide by."""
    if not macs or time_ms is None or time_ms < SHORTEST_RATED_MS:
        return None
    return macs / time_ms * _MS_PER_S / _MACS_PER_GMAC
