"""Kernels of two variants side by side: paired by identity where there is one, by name where there is none."""

from dataclasses import replace

import pytest

from etprof.analysis.kernels.side_by_side import KernelView, build_kernel_view
from etprof.core.errors import UsageError
from etprof.core.samples import EXECUTED, REGISTERED, KernelLine

CONVOLUTION, GEMM, PACK = "Convolution (NHWC, PF32) IGEMM #1", "Fully Connected (NC, F32) GEMM #1", "Pack LH (X32) #1"


def line(identity: str, operator: str, kernel: str, instruction_class: str, samples: int = 10) -> KernelLine:
    return KernelLine(
        level=EXECUTED,
        experiment="on",
        identity=identity,
        operator=operator,
        category="GEMM",
        kernel=kernel,
        instruction_class=instruction_class,
        samples=samples,
        operator_samples=samples,
        extension="SME2",
        extension_executed="yes",
        reason="",
    )


def registered(operator: str, kernel: str) -> KernelLine:
    return replace(line("", operator, kernel, "SME"), level=REGISTERED, samples=None, operator_samples=None)


def names(view: KernelView) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(row.operator, tuple(k.kernel for k in row.on), tuple(k.kernel for k in row.off)) for row in view.rows]


def test_operators_are_paired_by_order_and_the_hottest_comes_first() -> None:
    on = [line("d0.0", CONVOLUTION, "a", "SME", 5), line("d0.1", GEMM, "b", "SME", 50)]
    off = [line("d0.0", CONVOLUTION, "c", "NEON", 7), line("d0.1", GEMM, "d", "NEON", 9)]
    assert names(build_kernel_view(on, off)) == [(GEMM, ("b",), ("d",)), (CONVOLUTION, ("a",), ("c",))]


def test_an_operator_that_only_one_variant_has_does_not_shift_the_others() -> None:
    on = [line("d0.0", PACK, "p", "SME", 1), line("d0.1", CONVOLUTION, "a", "SME", 9)]
    off = [line("d0.0", CONVOLUTION, "c", "NEON", 9)]
    assert names(build_kernel_view(on, off)) == [(CONVOLUTION, ("a",), ("c",)), (PACK, ("p",), ())]


def test_the_ninth_operator_is_paired_before_the_tenth() -> None:
    on = [line(f"d0.{i}", f"Add (ND) #{i}", f"on{i}", "SME") for i in (10, 9, 2)]
    off = [line(f"d0.{i}", f"Add (ND) #{i}", f"off{i}", "NEON") for i in (2, 10, 9)]
    assert [pair[1:] for pair in names(build_kernel_view(on, off))] == [
        (("on2",), ("off2",)), (("on9",), ("off9",)), (("on10",), ("off10",)),
    ]  # fmt: skip


def test_without_identities_names_are_paired() -> None:
    on = [registered(GEMM, "a"), registered(CONVOLUTION, "b"), registered(GEMM, "c")]
    view = build_kernel_view(on, [registered(CONVOLUTION, "d"), registered(PACK, "e")])
    assert view.level == REGISTERED
    assert names(view) == [(GEMM, ("a", "c"), ()), (CONVOLUTION, ("b",), ("d",)), (PACK, (), ("e",))]


def test_a_row_has_changed_where_its_most_sampled_kernels_differ_in_class() -> None:
    on = [line("d0.0", CONVOLUTION, "a", "SME"), line("d0.1", GEMM, "b", "NEON"), line("d0.1", GEMM, "b2", "SME")]
    off = [line("d0.0", CONVOLUTION, "c", "NEON"), line("d0.1", GEMM, "d", "NEON")]
    assert {row.operator: row.changed for row in build_kernel_view(on, off).rows} == {CONVOLUTION: True, GEMM: False}


def test_executed_and_registered_kernels_are_not_put_side_by_side() -> None:
    with pytest.raises(UsageError, match="cannot be compared") as caught:
        build_kernel_view([line("d0.0", GEMM, "a", "SME")], [registered(GEMM, "a")])
    assert "etprof kernels log" in caught.value.hint
