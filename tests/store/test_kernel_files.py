"""The table of kernels: what is written is what is read, and a foreign table is refused."""

from pathlib import Path

import pytest

from etprof.core.errors import StoreError
from etprof.core.rows import KernelUse
from etprof.core.samples import EXECUTED
from etprof.store.kernel_files import COLUMNS, load_kernels, save_kernels, write_rows
from evidence_builder import an_evidence, sampled_operator

ON = an_evidence(
    sampled_operator(
        "d0.0", 'Fully Connected (NC, PF32) "GEMM" #1', KernelUse("kai_sme2", "SME", 9), KernelUse("a|b", "NEON", 1)
    ),
    sampled_operator("d0.1", "Batch Matrix Multiply (NC, PF32) GEMM #1"),
    threads=2,
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


def test_the_documented_columns_are_these() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md"
    text = page.read_text(encoding="utf-8")
    assert all(f"`{column}`" in text for column in COLUMNS)


def test_a_heading_longer_than_any_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x" * 200_000)
    with pytest.raises(StoreError, match="cannot be read as a table of kernels"):
        load_kernels(tmp_path / "a.csv")
