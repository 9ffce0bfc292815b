"""Instructions of each Arm extension by their bits: as GNU as encodes them, and as the wheel's kernels have them."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.analysis.kernels.arm_encodings import ENCODINGS
from etprof.analysis.kernels.instructions import CLASSES, pack_classes, read_uses
from etprof.runner.cross import resolve_parts
from parts import need

ASSEMBLER, DISASSEMBLER = "aarch64-linux-gnu-as", "aarch64-linux-gnu-objdump"

# What GNU as 2.40 knows: SME, but not SME2.
INSTRUCTIONS = {
    "DotProd": """sdot v0.4s, v1.16b, v2.16b; udot v0.2s, v1.8b, v2.8b; sdot v0.4s, v1.16b, v2.4b[3];
        udot v0.4s, v1.16b, v31.4b[1]""",
    "I8MM": """usdot v0.4s, v1.16b, v2.16b; usdot v0.4s, v1.16b, v2.4b[3]; sudot v0.4s, v1.16b, v2.4b[3];
        smmla v0.4s, v1.16b, v2.16b; ummla v0.4s, v1.16b, v2.16b; usmmla v0.4s, v1.16b, v2.16b""",
    "BF16": """bfdot v0.4s, v1.8h, v2.8h; bfdot v0.4s, v1.8h, v2.2h[3]; bfmmla v0.4s, v1.8h, v2.8h;
        bfmlalb v0.4s, v1.8h, v2.8h; bfmlalt v0.4s, v1.8h, v2.8h; bfmlalb v0.4s, v1.8h, v2.h[7];
        bfmlalt v0.4s, v1.8h, v2.h[7]; bfcvtn v0.4h, v1.4s; bfcvtn2 v0.8h, v1.4s; bfcvt h0, s1""",
    "FP16": """fmla v0.8h, v1.8h, v2.8h; fadd v0.4h, v1.4h, v2.4h; fmax v0.8h, v1.8h, v2.8h; fmla v0.8h, v1.8h, v2.h[7];
        fmls v0.8h, v1.8h, v2.h[7]; fmul v0.8h, v1.8h, v2.h[7]; fmulx v0.8h, v1.8h, v2.h[7]; fabs v0.8h, v1.8h;
        fcvtns v0.8h, v1.8h; scvtf v0.8h, v1.8h; fcmgt v0.8h, v1.8h, #0.0; fmaxv h0, v1.8h; fminnmv h0, v1.8h;
        fmov v0.8h, #1.0; scvtf v0.8h, v1.8h, #3; fcvtzu v0.8h, v1.8h, #3; scvtf h0, h1, #3; fmla h0, h1, v2.h[7];
        fmls h0, h1, v2.h[7]; fmul h0, h1, v2.h[7]; fmulx h0, h1, v2.h[7]; fmulx h0, h1, h2; frecpe h0, h1;
        faddp h0, v1.2h; fmaxp h0, v1.2h; fminnmp h0, v1.2h; fadd h0, h1, h2; fmadd h0, h1, h2, h3; fmov h0, #1.0;
        fcmp h0, h1; fcsel h0, h1, h2, eq; scvtf h0, w1; fcvtzs x0, h1; fmov w0, h1; fmlal v0.4s, v1.4h, v2.4h;
        fmlal2 v0.4s, v1.4h, v2.4h; fmlsl v0.4s, v1.4h, v2.4h; fmlsl2 v0.4s, v1.4h, v2.4h; fmlal v0.4s, v1.4h, v2.h[7];
        fmlal2 v0.4s, v1.4h, v2.h[7]; fmlsl v0.4s, v1.4h, v2.h[7]; fmlsl2 v0.4s, v1.4h, v2.h[7]""",
    "I8MM SVE": """smmla z0.s, z1.b, z2.b; ummla z0.s, z1.b, z2.b; usmmla z0.s, z1.b, z2.b; usdot z0.s, z1.b, z2.b;
        usdot z0.s, z1.b, z2.b[3]; sudot z0.s, z1.b, z2.b[3]""",
    "BF16 SVE": """bfdot z0.s, z1.h, z2.h; bfdot z0.s, z1.h, z2.h[3]; bfmmla z0.s, z1.h, z2.h;
        bfmlalb z0.s, z1.h, z2.h; bfmlalt z0.s, z1.h, z2.h; bfmlalb z0.s, z1.h, z2.h[7]; bfmlalt z0.s, z1.h, z2.h[7];
        bfcvt z0.h, p0/m, z1.s; bfcvtnt z0.h, p0/m, z1.s""",
    "SVE": "sdot z0.s, z1.b, z2.b; fmla z0.h, p0/m, z1.h, z2.h; ld1w {z0.s}, p0/z, [x0]; whilelt p0.s, x0, x1",
    "SME": """fmopa za0.s, p0/m, p1/m, z0.s, z1.s; fmopa za0.s, p0/m, p1/m, z0.h, z1.h;
        bfmopa za0.s, p0/m, p1/m, z0.h, z1.h; smopa za0.s, p0/m, p1/m, z0.b, z1.b; usmopa za0.s, p0/m, p1/m, z0.b, z1.b;
        zero {za}; smstart; smstop; ldr za[w12, 0], [x0]; mova z0.s, p0/m, za0h.s[w12, 0]""",
    # Near the others, and part of every AArch64 CPU.
    "NEON": """fcvtl v0.4s, v1.4h; fcvtn v0.4h, v1.4s; fcvt s0, h1; fcvt d0, h1; fcvt h0, s1; fmla v0.4s, v1.4s, v2.4s;
        fmla v0.4s, v1.4s, v2.s[1]; fmla v0.2d, v1.2d, v2.2d; mla v0.8h, v1.8h, v2.h[7]; mul v0.8h, v1.8h, v2.h[7];
        sqdmulh v0.8h, v1.8h, v2.8h; sqrdmulh v0.8h, v1.8h, v2.h[7]; sqrdmlah v0.8h, v1.8h, v2.8h;
        smlal v0.4s, v1.4h, v2.4h; smull v0.8h, v1.8b, v2.8b; dup v0.8h, v1.h[3]; zip1 v0.8h, v1.8h, v2.8h;
        movi v0.8h, #3; fmov v0.4s, #1.0; sshr v0.8h, v1.8h, #3; scvtf v0.4s, v1.4s, #3; smaxv b0, v1.16b;
        fmaxv s0, v1.4s; fcvtns v0.4s, v1.4s; fadd s0, s1, s2; ldr h0, [x0]; addp d0, v1.2d; faddp s0, v1.2s""",
}  # fmt: skip
CASES = [(wanted, line.strip()) for wanted, text in INSTRUCTIONS.items() for line in text.split(";")]
# Instructions of a library that only its extension has, by what the disassembler calls them.
LISTED = (
    (re.compile(r"[su]dot\tv"), "DotProd"),
    (re.compile(r"(?:us|su)dot\t|(?:us|s|u)mmla\t"), "I8MM"),
    (re.compile(r"bf(?:dot|mmla|mlal[bt]|cvtn?t?)\t"), "BF16"),
    (re.compile(r"(?!fcvt[ln]?2?\t)(?:f\w+|[su]cvtf)\t(?=.*(?:\bh\d|v\d+\.(?:[48]h|h\[)))"), "FP16"),
)
SPECIAL = pack_classes("arm64", ["DotProd", "I8MM", "BF16", "FP16"])


@pytest.fixture(scope="session")
def xnnpack() -> Path:
    """XNNPACK with KleidiAI as the wheel for aarch64 has it."""
    need(find_spec("executorch"), "executorch is not installed")
    need(shutil.which(DISASSEMBLER), f"there is no {DISASSEMBLER}")
    need(shutil.which("aarch64-linux-gnu-g++"), "there is no cross compiler")
    sdk, _, _ = resolve_parts("linux-arm64", None, None, lambda _: None)
    return sdk.prefix / "lib" / "libexecutorch_backend_xnnpack.so"


def disassemble(path: Path) -> Iterator[tuple[str, int, str]]:
    """The function, word and text of each instruction."""
    done = subprocess.run([DISASSEMBLER, "-d", str(path)], capture_output=True, text=True, timeout=120, check=True)
    function = ""
    for line in done.stdout.splitlines():
        if found := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
            function = found[1]
        elif found := re.match(r"\s*[0-9a-f]+:\t([0-9a-f]{8}) \t(.*)", line):
            yield function, int(found[1], 16), found[2]


def uses_of(*words: int) -> list[int]:
    found: list[int] = read_uses("arm64", [word.to_bytes(4, "little") for word in words]).tolist()
    return found


def names_of(uses: int) -> set[str]:
    return {name for place, name in enumerate(CLASSES["arm64"]) if uses >> place & 1}


@pytest.fixture(scope="session")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    need(shutil.which(ASSEMBLER), f"there is no {ASSEMBLER}")
    source = tmp_path_factory.mktemp("assembled") / "all.s"
    header = ".arch armv9-a+sve2+i8mm+bf16+fp16fml+dotprod+sme\n"
    source.write_text(header + "\n".join(line for _, line in CASES) + "\n", encoding="utf-8")
    subprocess.run([ASSEMBLER, "-o", str(source.with_suffix(".o")), str(source)], check=True, timeout=60)
    words = [word for _, word, _ in disassemble(source.with_suffix(".o"))]
    return dict(zip((line for _, line in CASES), words, strict=True))


@pytest.mark.parametrize(("wanted", "line"), CASES)
def test_an_instruction_belongs_to_the_extension_that_the_assembler_asks_for(
    wanted: str, line: str, assembled: dict[str, int]
) -> None:
    (uses,) = uses_of(assembled[line])
    assert names_of(uses) - {"NEON"} == set(wanted.split()) - {"NEON"}


def test_every_encoding_is_met_by_an_instruction(assembled: dict[str, int]) -> None:
    words = list(assembled.values())
    for encoding in ENCODINGS:
        assert any(word & encoding.mask == encoding.value for word in words), encoding.mnemonics


def test_every_word_of_the_wheels_kernels_is_told_as_the_disassembler_tells_it(xnnpack: Path) -> None:
    texts = {word: text for _, word, text in disassemble(xnnpack)}
    assert len(texts) > 50_000
    expected = [
        pack_classes("arm64", [name for pattern, name in LISTED if pattern.match(text)]) for text in texts.values()
    ]
    found = [uses & SPECIAL for uses in uses_of(*texts)]
    wrong = [text for text, a, b in zip(texts.values(), expected, found, strict=True) if a != b]
    assert wrong == []
    assert {name for uses in found for name in names_of(uses)} >= {"DotProd", "I8MM", "FP16"}


def test_the_library_has_sve_in_sme_kernels_only_and_no_product_of_bfloat16(xnnpack: Path) -> None:
    """No kernel is predicted to be of either."""
    code = list(disassemble(xnnpack))
    uses = uses_of(*(word for _, word, _ in code))
    sve, bf16 = (pack_classes("arm64", [name]) for name in ("SVE", "BF16"))
    assert [f for (f, _, _), own in zip(code, uses, strict=True) if own & sve and not re.search(r"sme2?", f)] == []
    assert {text.split()[0] for (_, _, text), own in zip(code, uses, strict=True) if own & bf16} <= {"bfcvtn"}


def test_words_of_sme2_only_are_told_by_the_wheels_kernels(xnnpack: Path) -> None:
    """The disassembler does not know them: in kernels for SME2 they are SME, or SVE in streaming mode."""
    unknown = {
        (function, word)
        for function, word, text in disassemble(xnnpack)
        if "sme2" in function and text.startswith(".inst")
    }
    functions = {function for function, _ in unknown}
    assert len(functions) > 5
    for function in functions:
        names = [names_of(uses) for uses in uses_of(*(word for own, word in unknown if own == function))]
        assert {"SME"} in names, function
        assert all(each in ({"SME"}, {"SVE"}) for each in names), function
