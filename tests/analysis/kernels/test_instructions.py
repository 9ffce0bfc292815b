"""Instruction classes from machine code: every row was assembled by GNU as, or taken from Arm's manual where marked."""

import pytest

from etprof.analysis.kernels.instructions import CLASSES, most_capable, pack_classes, read_uses, read_uses_onwards

ARM64 = {
    "fmopa za0.s, p0/m, p1/m, z0.s, z1.s": (0x80812000, "SME"),
    "ld1b {za0h.b[w12, 0]}, p0/z, [x0]": (0xE01F0000, "SME"),
    "smstart": (0xD503477F, "SME"),
    "smstop za": (0xD503447F, "SME"),
    "ld1w {z0.s}, p0/z, [x0]": (0xA540A000, "SVE"),
    "fmla z0.s, p0/m, z1.s, z2.s": (0x65A20020, "SVE"),
    "fmla v0.4s, v1.4s, v2.4s": (0x4E22CC20, "NEON"),
    "sdot v0.4s, v1.16b, v2.16b": (0x4E829420, "DotProd"),
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
    "vaddps ymm0, ymm1, ymm2": ("c5f458c2", "AVX"),
    "vfmadd231ss xmm0, xmm1, xmm2": ("c4e271b9c2", "AVX2"),
    "vpmaddubsw ymm0, ymm1, ymm2": ("c4e27504c2", "AVX2"),
    "vpmaddubsw xmm0, xmm1, xmm2": ("c4e27104c2", "AVX"),
    "vperm2f128 ymm0, ymm1, ymm2, 1": ("c4e37506c201", "AVX"),
    "vbroadcastss ymm0, dword ptr [rax]": ("c4e27d1800", "AVX"),
    "vpbroadcastd xmm0, dword ptr [rax]": ("c4e2795800", "AVX2"),
    "vextracti128 xmm0, ymm1, 1": ("c4e37d39c801", "AVX2"),
    "vzeroupper": ("c5f877", "AVX"),
    "addps xmm0, xmm1": ("0f58c1", "SSE"),
    "movd xmm0, eax": ("660f6ec0", "SSE"),
    "add rax, rbx": ("4801d8", "scalar"),
    "rep movsb": ("f3a4", "scalar"),
    "cut off in the middle": ("62f174", "unknown"),
}


def classify(architecture: str, *codes: bytes) -> list[str]:
    return [CLASSES[architecture][place] for place in most_capable(read_uses(architecture, codes)).tolist()]


@pytest.mark.parametrize("text", ARM64)
def test_an_arm_instruction_is_told_by_its_bits(text: str) -> None:
    word, expected = ARM64[text]
    assert classify("arm64", word.to_bytes(4, "little") + b"\xff" * 12) == [expected]


@pytest.mark.parametrize("text", X86_64)
def test_an_x86_instruction_is_told_by_its_registers(text: str) -> None:
    code, expected = X86_64[text]
    assert classify("x86_64", bytes.fromhex(code)) == [expected]


def test_only_the_first_instruction_counts() -> None:
    add, fmopa = (0x8B020020).to_bytes(4, "little"), (0x80812000).to_bytes(4, "little")
    assert classify("arm64", add + fmopa, fmopa + add, fmopa[:3], b"") == ["scalar", "SME", "unknown", "unknown"]


def test_codes_keep_their_order_when_some_are_the_same() -> None:
    codes = [bytes.fromhex(code) for code, _ in X86_64.values()]
    assert classify("x86_64", *codes * 2) == [name for _, name in X86_64.values()] * 2


def test_an_instruction_can_belong_to_two_extensions() -> None:
    (uses,) = read_uses("arm64", [(0x45029820).to_bytes(4, "little")])  # smmla z0.s, z1.b, z2.b
    assert uses == pack_classes("arm64", ["I8MM", "SVE"])


def test_what_follows_up_to_the_next_branch_is_executed_too() -> None:
    add, smmla, fmla, loop, unknown = (
        word.to_bytes(4, "little") for word in (0x8B020020, 0x4E82A420, 0x4E420C20, 0x54FFFFC1, 0)
    )
    i8mm, fp16 = pack_classes("arm64", ["I8MM"]), pack_classes("arm64", ["FP16"])
    runs = [add + add + smmla, add + loop + smmla, add + unknown + smmla, smmla + loop + fmla, fmla + smmla[:3], b""]
    found = read_uses_onwards("arm64", runs)
    assert [bool(uses & i8mm) for uses in found.tolist()] == [True, False, False, True, False, False]
    assert [bool(uses & fp16) for uses in found.tolist()] == [False, False, False, False, True, False]
    assert read_uses_onwards("arm64", [b"", b"\x01"]).tolist() == [1, 1]
    assert read_uses_onwards("arm64", []).tolist() == []


@pytest.mark.parametrize(
    "word", [0x14000000, 0x94000001, 0x54000040, 0x34000040, 0xB5000040, 0x36000040, 0xD61F0000, 0xD65F03C0, 0xD4000001]
)
def test_a_branch_ends_what_is_certain(word: int) -> None:
    """b, bl, b.eq, cbz, cbnz, tbz, br, ret, svc."""
    (uses,) = read_uses_onwards("arm64", [word.to_bytes(4, "little") + (0x4E82A420).to_bytes(4, "little")])
    assert uses == pack_classes("arm64", ["scalar"])


def test_on_x86_one_instruction_counts() -> None:
    code = bytes.fromhex(X86_64["add rax, rbx"][0] + X86_64["vaddps zmm0, zmm1, zmm2"][0])
    assert read_uses_onwards("x86_64", [code]).tolist() == read_uses("x86_64", [code]).tolist()


def test_classes_of_another_architecture_have_no_bits() -> None:
    assert pack_classes("arm64", ["AVX-512", "scalar"]) == pack_classes("arm64", ["scalar"]) == 2
