"""Instruction classes from machine code: every row was assembled by GNU as, or taken from Arm's manual where marked."""

import pytest

from etprof.analysis.kernels.instructions import CLASSES, classify_code

ARM64 = {
    "fmopa za0.s, p0/m, p1/m, z0.s, z1.s": (0x80812000, "SME"),
    "ld1b {za0h.b[w12, 0]}, p0/z, [x0]": (0xE01F0000, "SME"),
    "smstart": (0xD503477F, "SME"),
    "smstop za": (0xD503447F, "SME"),
    "ld1w {z0.s}, p0/z, [x0]": (0xA540A000, "SVE"),
    "fmla z0.s, p0/m, z1.s, z2.s": (0x65A20020, "SVE"),
    "fmla v0.4s, v1.4s, v2.4s": (0x4E22CC20, "NEON"),
    "sdot v0.4s, v1.16b, v2.16b": (0x4E829420, "NEON"),
    "ldr q0, [x0]": (0x3DC00000, "NEON"),
    "ldp q0, q1, [x0]": (0xAD400400, "NEON"),
    "fadd s0, s1, s2": (0x1E222820, "NEON"),
    "ldr x0, [x1]": (0xF9400020, "scalar"),
    "add x0, x1, x2": (0x8B020020, "scalar"),
    "subs x0, x0, #1": (0xF1000400, "scalar"),
    "b .": (0x14000000, "scalar"),
    "nop": (0xD503201F, "scalar"),
    "svc #0": (0xD4000001, "scalar"),
    "msr tpidr_el0, x0": (0xD51BD040, "scalar"),
    "udf #0": (0x00000000, "unknown"),
}
X86_64 = {
    "tdpbf16ps tmm0, tmm1, tmm2": ("c4e26a5cc1", "AMX"),
    "tilerelease": ("c4e27849c0", "AMX"),
    "vaddps zmm0, zmm1, zmm2": ("62f1744858c2", "AVX-512"),
    "vaddps ymm16, ymm1, ymm2": ("62e1742858c2", "AVX-512"),
    "vaddps xmm17, xmm1, xmm2": ("62e1740858ca", "AVX-512"),
    "vaddps ymm0{k1}, ymm1, ymm2": ("62f1742958c2", "AVX-512"),
    "kmovw k1, eax": ("c5f892c8", "AVX-512"),
    "vaddps ymm0, ymm1, ymm2": ("c5f458c2", "AVX2"),
    "vfmadd231ss xmm0, xmm1, xmm2": ("c4e271b9c2", "AVX2"),
    "vzeroupper": ("c5f877", "AVX2"),
    "addps xmm0, xmm1": ("0f58c1", "SSE"),
    "movd xmm0, eax": ("660f6ec0", "SSE"),
    "add rax, rbx": ("4801d8", "scalar"),
    "rep movsb": ("f3a4", "scalar"),
    "cut off in the middle": ("62f174", "unknown"),
}


@pytest.mark.parametrize("text", ARM64)
def test_an_arm_instruction_is_told_by_its_bits(text: str) -> None:
    word, expected = ARM64[text]
    found = classify_code("arm64", [word.to_bytes(4, "little") + b"\xff" * 12])
    assert CLASSES["arm64"][found[0]] == expected


@pytest.mark.parametrize("text", X86_64)
def test_an_x86_instruction_is_told_by_its_registers(text: str) -> None:
    code, expected = X86_64[text]
    assert CLASSES["x86_64"][classify_code("x86_64", [bytes.fromhex(code)])[0]] == expected


def test_only_the_first_instruction_counts() -> None:
    add, fmopa = (0x8B020020).to_bytes(4, "little"), (0x80812000).to_bytes(4, "little")
    assert classify_code("arm64", [add + fmopa, fmopa + add, fmopa[:3], b""]).tolist() == [1, 4, 0, 0]


def test_codes_keep_their_order_when_some_are_the_same() -> None:
    codes = [bytes.fromhex(code) for code, _ in X86_64.values()]
    expected = [CLASSES["x86_64"].index(name) for _, name in X86_64.values()]
    assert classify_code("x86_64", codes * 2).tolist() == expected * 2
