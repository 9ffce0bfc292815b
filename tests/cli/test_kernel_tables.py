"""The kernels of a variant on a narrow terminal, for somebody who is tired."""

from dataclasses import replace

import pytest

from etprof.cli.kernel_tables import evidence_lines, evidence_tables, reason_lines
from etprof.core.estimates import Interval
from etprof.core.kernel_evidence import Executed, KernelEvidence
from etprof.core.operators import OperatorId
from etprof.core.rows import KernelUse
from etprof.reports.text_table import render_table
from evidence_builder import an_evidence, sampled_operator

MOPA = "kai_kernel_matmul_clamp_f32_f32p2vlx1_f32p2vlx1biasf32_sme2_mopa"
PACK = "kai_kernel_lhs_imatmul_pack_x32p2vlx1_x32p_sme"
SURE = Interval(1.0, 0.97, 1.0)
CONVOLUTION = sampled_operator(
    "d0.0", "Convolution (NHWC, PF32) IGEMM #2", KernelUse(MOPA, "SME", 500), KernelUse(PACK, "SME", 99),
    category="Convolution", share=SURE,
)  # fmt: skip
CONNECTED = sampled_operator("d0.1", "Fully Connected (NC, PF32) GEMM #1", KernelUse(MOPA, "SME", 300), share=SURE)
UNSEEN = sampled_operator("d0.2", "Fully Connected (NC, PF32) GEMM #2")
RARE = sampled_operator(
    "d0.3", "Transpose (ND, X32) #1", KernelUse("memcpy", "NEON", 2), category="Data Movement", selected="",
    executed=Executed.NO, reason="only moves data",
)  # fmt: skip
EVIDENCE = an_evidence(RARE, UNSEEN, CONNECTED, CONVOLUTION, compiled_in=(MOPA,), verdict="SME2 executed: yes.")


def render(evidence: KernelEvidence, limit: int | None = 15, width: int | None = 80) -> str:
    return "\n".join(render_table(table, width) for table in evidence_tables(evidence, limit))


@pytest.mark.parametrize("width", [80, 100, 160])
def test_operators_and_kernels_stand_whole_on_one_line(width: int) -> None:
    lines = render(EVIDENCE, None, width).splitlines()
    assert max(map(len, lines)) <= width
    for name in [*(row.name for row in EVIDENCE.operators), MOPA, PACK, "memcpy"]:
        assert sum(name in line for line in lines) == 1, name


def test_eighty_columns_hold_all_of_an_operator() -> None:
    lines = render(EVIDENCE).splitlines()
    (line,) = [line for line in lines if CONVOLUTION.name in line]
    assert line.split()[-6:] == ["yes", "100%", "(97-100%)", "599", "1", "2"]
    assert all(len(line) <= 80 for line in evidence_lines(EVIDENCE))


def test_each_kernel_is_named_in_full_once_with_all_its_samples() -> None:
    text = render(EVIDENCE, width=100)
    assert text.count(MOPA) == text.count(PACK) == 1
    (line,) = [line for line in text.splitlines() if MOPA in line]
    assert line.split() == ["1", "800", "SME", MOPA]


def test_compute_comes_first_and_what_was_hardly_sampled_is_counted_only() -> None:
    text = render(EVIDENCE)
    names = [row.name for row in (CONVOLUTION, CONNECTED, UNSEEN)]
    assert sorted(names, key=text.index) == names
    assert RARE.name not in text
    assert text.startswith("Operators (3 of 4; --verbose shows all)\n")
    assert RARE.name in render(EVIDENCE, limit=None)


def test_a_name_that_comes_twice_is_told_apart() -> None:
    again = replace(CONVOLUTION, identity=OperatorId("d1.0"))
    text = render(replace(EVIDENCE, operators=(CONVOLUTION, again)), width=100)
    assert f"{CONVOLUTION.name} [d0.0]" in text
    assert f"{CONVOLUTION.name} [d1.0]" in text


def test_the_levels_of_evidence_are_kept_apart() -> None:
    text = "\n".join(evidence_lines(EVIDENCE))
    assert "on, 1 thread: SME2 executed: yes." in text
    assert "SME2 was shown to the kernels; compiled in: 1 kernels by name" in text
    assert "selected by a packed type: 3 of 3 operators; executed: 2 of 3" in text
    assert "compiled in: not known" in "\n".join(evidence_lines(replace(EVIDENCE, compiled_in=None)))


def test_the_reason_why_an_operator_did_not_execute_it_is_told() -> None:
    assert list(reason_lines(EVIDENCE)) == ["  Transpose (ND, X32) #1: no: only moves data"]


def test_functions_that_stand_for_themselves_are_listed_once() -> None:
    function = sampled_operator("f0", MOPA, KernelUse(MOPA, "SME", 7), delegated=False)
    text = render(an_evidence(function), width=100)
    assert text.count(MOPA) == 1
    assert "Operators" not in text
