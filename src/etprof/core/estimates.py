"""What a measurement says of a quantity: an estimate with its interval, and the verdict of a comparison."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float
    confidence: float = 0.95


class Verdict(Enum):
    """`NO_DIFFERENCE`: none that is larger than the comparison's equivalence bound."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"
    INCONCLUSIVE = "inconclusive"
