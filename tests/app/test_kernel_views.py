"""Kernels of two variants side by side, and those that an XNNPACK log registered."""

from pathlib import Path

import pytest

from csv_rows import read_rows
from etprof.app.kernel_views import write_kernel_view, write_registered_kernels
from etprof.core.errors import TraceError, UsageError
from etprof.core.rows import KernelUse
from etprof.core.samples import REGISTERED
from etprof.store.kernel_files import load_kernels, save_kernels
from evidence_builder import an_evidence, sampled_operator

ON = an_evidence(
    sampled_operator("d0.0", "Fully Connected (NC, PF32) GEMM #1", KernelUse("kai_sme2", "SME", 9)),
    sampled_operator("d0.1", "Batch Matrix Multiply (NC, PF32) GEMM #1"),
)
OFF = an_evidence(
    sampled_operator("d0.0", "Fully Connected (NC, F32) GEMM #1", KernelUse("lib+0x10", "NEON", 7)),
    sampled_operator("d0.1", "Batch Matrix Multiply (NC, F32) GEMM #1"),
    experiment="off",
)
LOG = "Debug (XNNPACK): Using gemm microkernel 'xnn_pf32_gemm_minmax_ukernel_32x32__neonsme2'.\n"


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    on, off = tmp_path / "on_kernels.csv", tmp_path / "off_kernels.csv"
    save_kernels(on, [ON])
    save_kernels(off, [OFF])
    return on, off


def test_a_view_is_written_in_either_format_and_summed_up(tables: tuple[Path, Path], tmp_path: Path) -> None:
    said = write_kernel_view(*tables, tmp_path / "view.md")
    assert said == "2 operators, 1 of them with other instructions (executed)"
    text = (tmp_path / "view.md").read_text(encoding="utf-8")
    assert "| Fully Connected (NC, PF32) GEMM \\#1 | GEMM | kai\\_sme2 (SME, 9) | lib+0x10 (NEON, 7) | yes |" in text
    assert write_kernel_view(*tables, tmp_path / "view.csv") == said
    rows = read_rows(tmp_path / "view.csv")
    assert [(row["on_classes"], row["off_classes"], row["changed"]) for row in rows] == [
        ("SME", "NEON", "yes"),
        ("", "", "no"),
    ]


def test_a_file_of_another_kind_or_in_no_folder_is_refused(tables: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"neither \.md nor \.csv"):
        write_kernel_view(*tables, tmp_path / "view.txt")
    with pytest.raises(UsageError, match="There is no folder"):
        write_kernel_view(*tables, tmp_path / "none" / "view.md")


def test_registered_kernels_are_a_table_that_says_so(tmp_path: Path) -> None:
    log, target = tmp_path / "xnn.log", tmp_path / "kernels.csv"
    log.write_text(LOG)
    assert write_registered_kernels(log, target) == 1
    (line,) = load_kernels(target)
    assert (line.level, line.operator, line.instruction_class) == (REGISTERED, "gemm_minmax (pf32)", "SME")
    assert line.samples is None
    log.write_text("nothing\n")
    with pytest.raises(TraceError, match="names no XNNPACK kernel"):
        write_registered_kernels(log, target)
    with pytest.raises(UsageError, match="There is no folder"):
        write_registered_kernels(log, tmp_path / "none" / "kernels.csv")


def test_a_view_may_have_a_title_and_some_of_the_operators(tables: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "view.md"
    said = write_kernel_view(*tables, page, title="Batch <products>", operator="batch matrix")
    assert said == "1 of 2 operators, 0 of them with other instructions (executed)"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Batch ")
    assert "<products>" not in text
    assert "Fully Connected" not in text
    with pytest.raises(UsageError, match="No operator of the tables is called 'softmax'") as caught:
        write_kernel_view(*tables, page, operator="softmax")
    assert "Fully Connected (NC, PF32) GEMM #1" in caught.value.hint


def test_a_table_of_registered_kernels_names_the_model_it_is_said_to_be_of(tmp_path: Path) -> None:
    log, target = tmp_path / "xnn.log", tmp_path / "kernels.csv"
    log.write_text(LOG)
    write_registered_kernels(log, target, model_id="toy_cnn")
    assert [row["model_id"] for row in read_rows(target)] == ["toy_cnn"]
    assert len(load_kernels(target)) == 1
