"""The kernels of an arm on a narrow terminal, for somebody who is tired."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from etprof.cli.kernel_tables import evidence_lines, evidence_tables
from etprof.cli.main import main
from etprof.core.report import Executed, Interval, KernelEvidence, KernelUse, OperatorKernels

MOPA = "kai_kernel_matmul_clamp_f32_f32p2vlx1_f32p2vlx1biasf32_sme2_mopa"
PACK = "kai_kernel_lhs_imatmul_pack_x32p2vlx1_x32p_sme"


def an_operator(name: str, category: str, samples: int, *kernels: KernelUse, identity: str = "d0.0") -> OperatorKernels:
    share = Interval(1.0, 0.97, 1.0) if samples else None
    executed = Executed.YES if samples else Executed.UNSEEN
    return OperatorKernels(identity, name, category, "fp32", True, "PF32", samples, 0, kernels, {}, share, executed)


CONVOLUTION = an_operator(
    "Convolution (NHWC, PF32) IGEMM #2", "Convolution", 599, KernelUse(MOPA, "SME", 500), KernelUse(PACK, "SME", 99)
)
CONNECTED = an_operator("Fully Connected (NC, PF32) GEMM #1", "GEMM", 300, KernelUse(MOPA, "SME", 300), identity="d0.1")
UNSEEN = an_operator("Fully Connected (NC, PF32) GEMM #2", "GEMM", 0, identity="d0.2")
RARE = an_operator("Transpose (ND, X32) #1", "Data Movement", 2, KernelUse("memcpy", "NEON", 2), identity="d0.3")
EVIDENCE = KernelEvidence(
    "on", 1, "SME2", True, True, (MOPA,), 901, 0, 0, 899, 0, 0, 1, (RARE, UNSEEN, CONNECTED, CONVOLUTION),
    Interval(1.0, 0.99, 1.0), "SME2 executed: yes.",
)  # fmt: skip


def show(evidence: KernelEvidence, limit: int | None = 15, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for table in evidence_tables(evidence, limit):
        console.print(table)
    assert isinstance(console.file, io.StringIO)  # what it was given above
    return console.file.getvalue()


def test_eighty_columns_hold_an_operator_on_one_line() -> None:
    lines = show(EVIDENCE).splitlines()
    assert max(len(line) for line in lines) <= 80
    (line,) = [line for line in lines if CONVOLUTION.name in line]
    assert line.split()[-6:] == ["yes", "100%", "(97-100%)", "599", "1", "2"]
    assert all(len(line) <= 80 for line in list(evidence_lines(EVIDENCE))[1:])


def test_each_kernel_is_named_in_full_once_with_all_its_samples() -> None:
    text = show(EVIDENCE, width=100)
    assert text.count(MOPA) == text.count(PACK) == 1
    (line,) = [line for line in text.splitlines() if MOPA in line]
    assert line.split() == ["1", "800", "SME", MOPA]


def test_compute_comes_first_and_what_was_hardly_sampled_is_counted_only() -> None:
    text = show(EVIDENCE)
    names = [row.name for row in (CONVOLUTION, CONNECTED, UNSEEN)]
    assert sorted(names, key=text.index) == names
    assert RARE.name not in text
    assert "1 more operators; --verbose shows all" in text
    assert RARE.name in show(EVIDENCE, limit=None)


def test_a_name_that_comes_twice_is_told_apart() -> None:
    again = replace(CONVOLUTION, identity="d1.0")
    text = show(replace(EVIDENCE, operators=(CONVOLUTION, again)), width=100)
    assert f"{CONVOLUTION.name} [d0.0]" in text
    assert f"{CONVOLUTION.name} [d1.0]" in text


def test_imported_functions_are_listed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "perf.script"
    recording.write_text(f" 4711 81234.5: 7f21c0de20 {MOPA} (/opt/lib/libxnn.so)\n", encoding="utf-8")
    assert main(["kernels", "--import", str(recording)]) == 0
    said = capsys.readouterr()
    assert "SME2 executed: yes (100.0% of all samples" in said.out
    assert said.out.replace("\n", "").replace(" ", "").count(MOPA) == 1
    assert "does not know ExecuTorch's operators" in said.err
