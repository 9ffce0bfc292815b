"""Tells from machine code alone which extension of the instruction set an instruction belongs to.

AArch64: the top-level encoding groups of the Arm Architecture Reference Manual for A-profile (DDI 0487), section C4.1.
x86-64: the registers an instruction names, as disassembled by capstone; AMX, which it does not know, by its opcodes
(Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, "AMX instruction set reference").
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SCALAR = "scalar"
UNKNOWN = "unknown"
# The least capable first. SSE includes all that is encoded without a VEX prefix; AVX2 stands for AVX and FMA too.
CLASSES = {
    "arm64": (UNKNOWN, SCALAR, "NEON", "SVE", "SME"),
    "x86_64": (UNKNOWN, SCALAR, "SSE", "AVX2", "AVX-512", "AMX"),
}

_INSTRUCTION_BYTES = 4
_AMX = 5
# Configuration and zeroing; loads and stores; products of floating-point, integer and complex numbers.
_AMX_OPCODES = (0x49, 0x4B, 0x5C, 0x5E, 0x6C)
_MASK_REGISTER = re.compile(r"\bk[0-7]\b")
_HIGH_REGISTER = re.compile(r"\b[xy]mm(?:1[6-9]|2\d|3[01])\b")


def classify_code(architecture: str, codes: Sequence[bytes]) -> NDArray[np.int8]:
    """For each piece of machine code the place of its first instruction's class in CLASSES of that architecture."""
    unique = sorted(set(codes))
    classify = _classify_arm64 if architecture == "arm64" else _classify_x86_64
    numbers = dict(zip(unique, classify(unique).tolist(), strict=True))
    return np.array([numbers[code] for code in codes], np.int8)


def _classify_arm64(codes: Sequence[bytes]) -> NDArray[np.int8]:
    scalar, neon, sve, sme = 1, 2, 3, 4
    whole = np.array([len(code) >= _INSTRUCTION_BYTES for code in codes], np.bool_)
    padded = b"".join(code[:_INSTRUCTION_BYTES].ljust(_INSTRUCTION_BYTES, b"\0") for code in codes)
    word = np.frombuffer(padded, "<u4")
    op0, op1 = word >> 31, (word >> 25) & 15
    is_vector = (word >> 26) & 1 == 1
    # SMSTART and SMSTOP are encoded among the system instructions.
    is_mode_switch = word & 0xFFFFF8FF == 0xD503407F
    found = np.select(
        [
            ~whole | ((op1 == 0) & (op0 == 0)),
            (op1 == 0) | is_mode_switch,
            op1 == 2,
            (op1 & 7 == 7) | ((op1 & 5 == 4) & is_vector),
        ],
        [0, sme, sve, neon],
        scalar,
    )
    return found.astype(np.int8)


def _classify_x86_64(codes: Sequence[bytes]) -> NDArray[np.int8]:
    import capstone  # type: ignore[import-untyped]

    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found = np.zeros(len(codes), np.int8)
    for i, code in enumerate(codes):
        if _is_amx(code):
            found[i] = _AMX
            continue
        for _, _, mnemonic, operands in disassembler.disasm_lite(code, 0, 1):
            found[i] = _x86_64_class(mnemonic, operands)
    return found


def _is_amx(code: bytes) -> bool:
    """A VEX prefix of three bytes, opcode map 0F38, no vector beyond 128 bits, and an opcode that only AMX has."""
    is_vex = len(code) > _INSTRUCTION_BYTES and code[0] == 0xC4 and code[1] & 0x1F == 2 and not code[2] & 4
    return is_vex and code[3] in _AMX_OPCODES


def _x86_64_class(mnemonic: str, operands: str) -> int:
    scalar, sse, avx2, avx512 = 1, 2, 3, 4
    if "zmm" in operands or _MASK_REGISTER.search(operands) or _HIGH_REGISTER.search(operands):
        return avx512
    if "ymm" in operands or mnemonic in ("vzeroupper", "vzeroall"):
        return avx2
    if "xmm" in operands:
        return avx2 if mnemonic.startswith("v") else sse
    return scalar
