"""The operators of a report as tables: one for each comparison or lonely variant, the slowest first, none lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports.operator_tables import MAX_LINES, build_operator_tables
from report_builder import CONVOLUTION, a_report, many_operators, one_variant, untraced, with_kernels


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return a_report(tmp_path)


def test_a_comparison_is_a_table_of_its_operators_before_and_after(report: Report) -> None:
    (table,) = build_operator_tables(report)
    assert table.heading == "on against off (1 thread)"
    assert table.columns == ("off", "on", "share", "change", "speed-up")
    assert len(table.lines) == len(report.comparisons[0].operators)
    first = table.lines[0]
    assert (first.name, first.category, first.where) == (CONVOLUTION, "Convolution", "delegated")
    assert [cell.text for cell in first.cells] == ["3.00 ms", "0.752 ms", "38.6 %", "\u22122.25 ms", "3.99x"]
    assert first.rows == ((0, "d0.0"), (1, "d0.0"))
    times = [line.cells[1].value for line in table.lines]
    assert times == sorted(times, reverse=True)
    assert [line.note for line in table.lines].count("newly dominant") == 1
    assert table.categories == ("Convolution", "Data Movement", "GEMM", "Elementwise", "Other")
    assert {line.where for line in table.lines} == {"delegated", "portable"}


def test_an_operator_that_one_side_lacks_is_absent_there(report: Report) -> None:
    comparison = report.comparisons[0]
    gone = replace(comparison.operators[0], candidate_identity=None, candidate_ms=None)
    (table,) = build_operator_tables(replace(report, comparisons=(replace(comparison, operators=(gone,)),)))
    (line,) = table.lines
    assert [cell.text for cell in line.cells][1:3] == ["absent", "0.0 %"]
    assert line.cells[-1].text == "n/a"
    assert line.rows == ((0, "d0.0"),)


def test_without_a_comparison_each_variant_is_a_table(tmp_path: Path) -> None:
    (table,) = build_operator_tables(one_variant(tmp_path))
    assert (table.heading, table.columns) == ("off, 1 thread", ("mean", "median", "share"))
    assert sum(line.cells[2].value for line in table.lines) == pytest.approx(0.998, abs=0.002)
    assert build_operator_tables(untraced(tmp_path)) == ()


def test_kernel_classes_are_those_of_the_candidate(report: Report) -> None:
    (table,) = build_operator_tables(with_kernels(report))
    assert table.lines[0].classes == ("SME",)
    assert table.classes == ("SME",)


def test_what_does_not_fit_is_counted(tmp_path: Path, report: Report) -> None:
    (short,) = build_operator_tables(report, most_each=2)
    assert (len(short.lines), short.left_out) == (2, 5)
    (long,) = build_operator_tables(many_operators(tmp_path, MAX_LINES + 500))
    assert len(long.lines) == MAX_LINES
    assert long.left_out == 504
