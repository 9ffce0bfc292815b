"""The cores that a plan lists: as a mask, or as numbers and ranges."""

import re

from etprof.core.plan import MOST_CORES

CORES = re.compile(r"^(0[xX][0-9a-fA-F]+|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)$")


def parse_cores(text: str) -> list[int]:
    """Core numbers from a mask such as 0xf0 or a list such as 0,4-7."""
    if not CORES.fullmatch(text):
        raise ValueError("cores are numbers, a range such as 4-7, a mask such as 0xf0, or little, big or prime")
    if text[:2] in ("0x", "0X"):
        mask = int(text, 16)
        if mask.bit_length() > MOST_CORES:
            raise ValueError(f"core numbers are below {MOST_CORES}")
        return [core for core in range(mask.bit_length()) if mask >> core & 1]
    cores: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        # A range is written out: one without end would fill the memory.
        if int(last or first) >= MOST_CORES:
            raise ValueError(f"core numbers are below {MOST_CORES}")
        cores += range(int(first), int(last or first) + 1)
    return sorted(set(cores))
