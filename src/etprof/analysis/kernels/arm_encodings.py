"""AArch64 instructions that only a CPU with a certain extension has, as bit patterns of their words.

Encodings of the Arm Architecture Reference Manual for A-profile (DDI 0487), section C4.1; a test assembles each row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FP16, BF16, DOT_PRODUCT, I8MM = "FP16", "BF16", "DotProd", "I8MM"


@dataclass(frozen=True)
class Encoding:
    """A word is one if its bits in `mask` are `value`, unless its bits in `except_mask` are `except_value`."""

    instruction_class: str
    mask: int
    value: int
    mnemonics: str
    except_mask: int = 0
    except_value: int = 0

    def matches(self, word: NDArray[np.uint32]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (word & np.uint32(self.mask)) == self.value
        if self.except_mask:
            found &= (word & np.uint32(self.except_mask)) != self.except_value
        return found


# Branches, calls and returns, and what raises an exception: mask and value.
_BRANCHES = (
    (0x7C000000, 0x14000000), (0xFF000000, 0x54000000), (0x7C000000, 0x34000000), (0xFE000000, 0xD6000000),
    (0xFF000000, 0xD4000000),
)  # fmt: skip


def is_branch(word: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether what follows in memory need not be executed next."""
    found = np.zeros(word.shape, np.bool_)
    for mask, value in _BRANCHES:
        found |= (word & np.uint32(mask)) == value
    return found


# Three registers; one register and an element of another, whose index takes the bits that the mask leaves out.
_VECTOR, _FULL_VECTOR, _ELEMENT, _SVE = 0xBFE0FC00, 0xFFE0FC00, 0xBFC0F400, 0xFFE0FC00

# Dot products and matrix products of SVE itself (SDOT, FMMLA) and its half precision need no other extension.
ENCODINGS = (
    Encoding(DOT_PRODUCT, 0x9FE0FC00, 0x0E809400, "SDOT, UDOT"),
    Encoding(DOT_PRODUCT, 0x9FC0F400, 0x0F80E000, "SDOT, UDOT by element"),
    Encoding(I8MM, _VECTOR, 0x0E809C00, "USDOT"),
    Encoding(I8MM, _ELEMENT, 0x0F80F000, "USDOT by element"),
    Encoding(I8MM, _ELEMENT, 0x0F00F000, "SUDOT by element"),
    Encoding(I8MM, 0xDFE0FC00, 0x4E80A400, "SMMLA, UMMLA"),
    Encoding(I8MM, _FULL_VECTOR, 0x4E80AC00, "USMMLA"),
    Encoding(I8MM, 0xFF20FC00, 0x45009800, "SMMLA, USMMLA, UMMLA of SVE"),
    Encoding(I8MM, _SVE, 0x44807800, "USDOT of SVE"),
    Encoding(I8MM, 0xFFE0F800, 0x44A01800, "USDOT, SUDOT by element of SVE"),
    Encoding(BF16, _VECTOR, 0x2E40FC00, "BFDOT"),
    Encoding(BF16, _FULL_VECTOR, 0x6E40EC00, "BFMMLA"),
    Encoding(BF16, _VECTOR, 0x2EC0FC00, "BFMLALB, BFMLALT"),
    Encoding(BF16, _ELEMENT, 0x0F40F000, "BFDOT by element"),
    Encoding(BF16, _ELEMENT, 0x0FC0F000, "BFMLALB, BFMLALT by element"),
    Encoding(BF16, 0xBFFFFC00, 0x0EA16800, "BFCVTN"),
    Encoding(BF16, 0xFFFFFC00, 0x1E634000, "BFCVT"),
    Encoding(BF16, _SVE, 0x64608000, "BFDOT of SVE"),
    Encoding(BF16, _SVE, 0x64604000, "BFDOT by element of SVE"),
    Encoding(BF16, _SVE, 0x6460E400, "BFMMLA of SVE"),
    Encoding(BF16, 0xFFE0F800, 0x64E08000, "BFMLALB, BFMLALT of SVE"),
    Encoding(BF16, 0xFFE0F000, 0x64E04000, "BFMLALB, BFMLALT by element of SVE"),
    Encoding(BF16, 0xFEFFE000, 0x648AA000, "BFCVT, BFCVTNT of SVE"),
    Encoding(FP16, 0x9F60C400, 0x0E400400, "three vectors of halves"),
    Encoding(FP16, 0x9F7E0C00, 0x0E780800, "two vectors of halves"),
    Encoding(FP16, 0xBF7FCC00, 0x0E30C800, "FMAXV, FMINV, FMAXNMV, FMINNMV of halves"),
    Encoding(FP16, 0xBFC0B400, 0x0F001000, "FMLA, FMLS of halves by element"),
    Encoding(FP16, 0x9FC0F400, 0x0F009000, "FMUL, FMULX of halves by element"),
    Encoding(FP16, 0xBFF8FC00, 0x0F00FC00, "FMOV of a constant half"),
    Encoding(FP16, 0x9FF0E400, 0x0F10E400, "halves from and to fixed point"),
    Encoding(FP16, 0xDFF0E400, 0x5F10E400, "a half from and to fixed point"),
    Encoding(FP16, 0xDF60C400, 0x5E400400, "three scalar halves"),
    Encoding(FP16, 0xDF7E0C00, 0x5E780800, "two scalar halves"),
    Encoding(FP16, 0xFF7FCC00, 0x5E30C800, "a pair of halves"),
    Encoding(FP16, 0xFFC0B400, 0x5F001000, "FMLA, FMLS of a half by element"),
    Encoding(FP16, 0xDFC0F400, 0x5F009000, "FMUL, FMULX of a half by element"),
    # The conversion of a half to single or double precision is part of every AArch64 CPU.
    Encoding(FP16, 0x7EC00000, 0x1EC00000, "arithmetic of scalar halves", 0xFFFF7C00, 0x1EE24000),
    Encoding(FP16, 0xBF60FC00, 0x0E20EC00, "FMLAL, FMLSL"),
    Encoding(FP16, 0xBF60FC00, 0x2E20CC00, "FMLAL2, FMLSL2"),
    Encoding(FP16, 0xBFC0B400, 0x0F800000, "FMLAL, FMLSL by element"),
    Encoding(FP16, 0xBFC0B400, 0x2F808000, "FMLAL2, FMLSL2 by element"),
)
