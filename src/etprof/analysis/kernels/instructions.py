"""Tells from machine code alone which extension of the instruction set an instruction belongs to.

AArch64: the top-level encoding groups of the Arm Architecture Reference Manual for A-profile (DDI 0487), section C4.1,
and below them the instructions of each extension (arm_encodings). FMOPA and SMOPA belong to SME and to SME2: the two
are one class, and a kernel's name says for which it was written.
x86-64: the registers an instruction names, as disassembled by capstone; AMX, which it does not know, by its opcodes
(Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, "AMX instruction set reference").
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.kernels.arm_encodings import BF16, DOT_PRODUCT, ENCODINGS, FP16, I8MM, is_branch

SCALAR = "scalar"
UNKNOWN = "unknown"
# The least capable first. SSE includes all that is encoded without a VEX prefix; AVX2 stands for FMA too.
CLASSES = {
    "arm64": (UNKNOWN, SCALAR, "NEON", FP16, BF16, DOT_PRODUCT, I8MM, "SVE", "SME"),
    "x86_64": (UNKNOWN, SCALAR, "SSE", "AVX", "AVX2", "AVX-512", "AMX"),
}

_INSTRUCTION_BYTES = 4
_AMX = CLASSES["x86_64"].index("AMX")
# Configuration and zeroing; loads and stores; products of floating-point, integer and complex numbers.
_AMX_OPCODES = (0x49, 0x4B, 0x5C, 0x5E, 0x6C)
_MASK_REGISTER = re.compile(r"\bk[0-7]\b")
_HIGH_REGISTER = re.compile(r"\b[xy]mm(?:1[6-9]|2\d|3[01])\b")
# Fused multiply-adds, and what AVX2 brought besides integers of 256 bits, which AVX does not compute with.
_NEEDS_AVX2 = re.compile(
    r"vfn?m(?:add|sub)|v(?:insert|extract|broadcast|perm2)i128|vp(?:broadcast|gather|maskmov|blendd|s[lr]lv|srav)|"
    r"vperm(?:ps|pd|d|q)$|vgather"
)
_INTEGERS = re.compile(r"vp(?!ermil|erm2f|test)|vmpsadbw")


def read_uses(architecture: str, codes: Sequence[bytes]) -> NDArray[np.int16]:
    """For each piece of machine code what its first instruction belongs to: bit n for entry n of CLASSES."""
    unique = sorted(set(codes))
    read = _read_arm64 if architecture == "arm64" else _read_x86_64
    uses = dict(zip(unique, read(unique).tolist(), strict=True))
    return np.array([uses[code] for code in codes], np.int16)


def read_uses_onwards(architecture: str, codes: Sequence[bytes]) -> NDArray[np.int16]:
    """The same of all instructions that are certain to be executed: on Arm those up to the next branch, too."""
    if architecture != "arm64" or not codes:
        return read_uses(architecture, codes)
    whole = [code[: len(code) // _INSTRUCTION_BYTES * _INSTRUCTION_BYTES] for code in codes]
    width = max(len(code) for code in whole)
    if not width:
        return read_uses(architecture, codes)
    word = np.frombuffer(b"".join(code.ljust(width, b"\0") for code in whole), "<u4").reshape(len(codes), -1)
    unique, place = np.unique(word, return_inverse=True)
    uses = read_uses(architecture, [each.tobytes() for each in unique])[place].reshape(word.shape)
    ends = is_branch(word) | (uses == pack_classes(architecture, [UNKNOWN]))
    # The first that ends the run is the last that counts.
    counts = np.cumsum(ends, axis=1) - ends == 0
    met: NDArray[np.int16] = np.bitwise_or.reduce(np.where(counts, uses, 0), axis=1).astype(np.int16)
    return met


def most_capable(uses: NDArray[np.int16]) -> NDArray[np.int8]:
    """The place of the most capable class in CLASSES, where bit n stands for entry n; UNKNOWN where no bit is set."""
    found: NDArray[np.int8] = np.maximum(np.frexp(uses)[1] - 1, 0).astype(np.int8)
    return found


def pack_classes(architecture: str, names: Iterable[str]) -> int:
    """The bits of these classes, without those that the architecture does not have."""
    known = CLASSES[architecture]
    return sum(1 << known.index(name) for name in set(names) if name in known)


def _read_arm64(codes: Sequence[bytes]) -> NDArray[np.int16]:
    unknown, scalar, neon, sve, sme = (
        pack_classes("arm64", [name]) for name in (UNKNOWN, SCALAR, "NEON", "SVE", "SME")
    )  # fmt: skip
    whole = np.array([len(code) >= _INSTRUCTION_BYTES for code in codes], np.bool_)
    padded = b"".join(code[:_INSTRUCTION_BYTES].ljust(_INSTRUCTION_BYTES, b"\0") for code in codes)
    word = np.frombuffer(padded, "<u4")
    op0, op1 = word >> 31, (word >> 25) & 15
    is_vector = (word >> 26) & 1 == 1
    # SMSTART and SMSTOP are encoded among the system instructions.
    is_mode_switch = word & 0xFFFFF8FF == 0xD503407F
    uses = np.select(
        [
            ~whole | ((op1 == 0) & (op0 == 0)),
            (op1 == 0) | is_mode_switch,
            op1 == 2,
            (op1 & 7 == 7) | ((op1 & 5 == 4) & is_vector),
        ],
        [unknown, sme, sve, neon],
        scalar,
    ).astype(np.int16)
    for encoding in ENCODINGS:
        uses[whole & encoding.matches(word)] |= pack_classes("arm64", [encoding.instruction_class])
    return uses


def _read_x86_64(codes: Sequence[bytes]) -> NDArray[np.int16]:
    import capstone  # type: ignore[import-untyped]

    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found = np.zeros(len(codes), np.int8)
    for i, code in enumerate(codes):
        if _is_amx(code):
            found[i] = _AMX
            continue
        for _, _, mnemonic, operands in disassembler.disasm_lite(code, 0, 1):
            found[i] = _x86_64_class(mnemonic, operands)
    return np.left_shift(1, found.astype(np.int16)).astype(np.int16)


def _is_amx(code: bytes) -> bool:
    """A VEX prefix of three bytes, opcode map 0F38, no vector beyond 128 bits, and an opcode that only AMX has."""
    is_vex = len(code) > _INSTRUCTION_BYTES and code[0] == 0xC4 and code[1] & 0x1F == 2 and not code[2] & 4
    return is_vex and code[3] in _AMX_OPCODES


def _x86_64_class(mnemonic: str, operands: str) -> int:
    scalar, sse, avx, avx2, avx512 = 1, 2, 3, 4, 5
    if "zmm" in operands or _MASK_REGISTER.search(operands) or _HIGH_REGISTER.search(operands):
        return avx512
    if _NEEDS_AVX2.match(mnemonic) or ("ymm" in operands and _INTEGERS.match(mnemonic)):
        return avx2
    if "ymm" in operands or mnemonic in ("vzeroupper", "vzeroall"):
        return avx
    if "xmm" in operands:
        return avx if mnemonic.startswith("v") else sse
    return scalar
