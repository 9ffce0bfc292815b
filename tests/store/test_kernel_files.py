"""The table of kernels: what is written is what is read, and a foreign table is refused."""

from pathlib import Path

import pytest

from etprof.analysis.kernel_view import build_kernel_view
from etprof.core.errors import StoreError, UsageError
from etprof.core.report import Executed, Interval, KernelEvidence, KernelUse, OperatorKernels
from etprof.core.samples import EXECUTED, REGISTERED, KernelLine
from etprof.reports.kernel_view import render_csv, render_markdown
from etprof.store.kernel_files import COLUMNS, load_kernels, save_kernels, write_rows


def an_operator(identity: str, name: str, *kernels: KernelUse) -> OperatorKernels:
    samples = sum(kernel.samples for kernel in kernels)
    share = Interval(0.5, 0.4, 0.6) if kernels else None
    executed = Executed.YES if kernels else Executed.UNSEEN
    return OperatorKernels(
        identity, name, "GEMM", "fp32", True, "PF32", samples, 3, kernels, {"SME": samples}, share, executed, "why, so"
    )  # fmt: skip


def an_evidence(*operators: OperatorKernels) -> KernelEvidence:
    return KernelEvidence(
        "on", 2, "SME2", True, True, (), 10, 1, 0, 0, 0, 0, 2, operators, None, "SME2 executed: yes"
    )  # fmt: skip


ON = an_evidence(
    an_operator(
        "d0.0", 'Fully Connected (NC, PF32) "GEMM" #1', KernelUse("kai_sme2", "SME", 9), KernelUse("a|b", "NEON", 1)
    ),
    an_operator("d0.1", "Batch Matrix Multiply (NC, PF32) GEMM #1"),
)
OFF = an_evidence(
    an_operator("d0.0", "Fully Connected (NC, F32) GEMM #1", KernelUse("lib+0x10", "NEON", 7)),
    an_operator("d0.1", "Copy (NC, X32) #1", KernelUse("memcpy", "scalar", 1)),
    an_operator("d0.2", "Batch Matrix Multiply (NC, F32) GEMM #1", KernelUse("lib+0x20", "NEON", 2)),
)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "on_t2_kernels.csv"
    save_kernels(path, [ON])
    lines = load_kernels(path)
    assert [(line.identity, line.kernel, line.samples, line.operator_samples) for line in lines] == [
        ("d0.0", "kai_sme2", 9, 10), ("d0.0", "a|b", 1, 10), ("d0.1", "", 0, 0)
    ]  # fmt: skip
    assert (lines[0].level, lines[0].operator) == (EXECUTED, 'Fully Connected (NC, PF32) "GEMM" #1')
    assert (lines[0].extension_executed, lines[2].extension_executed) == ("yes", "not sampled")


def test_a_foreign_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(StoreError, match="no column 'level'"):
        load_kernels(path)


def test_a_damaged_number_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_rows(path, [{"level": EXECUTED, "samples": "many"}])
    with pytest.raises(StoreError, match="line 2"):
        load_kernels(path)


def test_operators_stand_side_by_side_though_their_types_differ(tmp_path: Path) -> None:
    for name, evidence in (("on", ON), ("off", OFF)):
        save_kernels(tmp_path / f"{name}.csv", [evidence])
    view = build_kernel_view(load_kernels(tmp_path / "on.csv"), load_kernels(tmp_path / "off.csv"))
    pairs = [(row.on[0].operator if row.on else "", row.off[0].operator if row.off else "") for row in view.rows]
    assert pairs == [
        ('Fully Connected (NC, PF32) "GEMM" #1', "Fully Connected (NC, F32) GEMM #1"),
        ("Batch Matrix Multiply (NC, PF32) GEMM #1", "Batch Matrix Multiply (NC, F32) GEMM #1"),
        ("", "Copy (NC, X32) #1"),
    ]
    assert view.rows[0].changed


def a_registered(kernel: str) -> KernelLine:
    return KernelLine(REGISTERED, "", "", "gemm (f32)", "", kernel, "NEON", None, None, "", "", "")


def test_registered_kernels_are_called_so_and_never_mixed_with_executed_ones(tmp_path: Path) -> None:
    save_kernels(tmp_path / "on.csv", [ON])
    executed = load_kernels(tmp_path / "on.csv")
    with pytest.raises(UsageError, match="side by side"):
        build_kernel_view(executed, [a_registered("xnn_a")])
    view = build_kernel_view([a_registered("xnn_a")], [a_registered("xnn_b")])
    lines = [(row.operator, row.category, row.changed, row.on, row.off) for row in view.rows]
    assert "Nothing here says that they executed." in render_markdown(view.level, lines)
    assert "registered, not executed" in render_csv(view.level, lines)


def test_the_documented_columns_are_these() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md"
    text = page.read_text(encoding="utf-8")
    assert all(f"`{column}`" in text for column in COLUMNS)
