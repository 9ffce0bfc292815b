"""The report as one table: a row for each inference, category and operator, and no cell that a spreadsheet runs."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports.csv import COLUMNS, render
from report_builder import a_report, emulated, with_kernels


def read_rows(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(report))))


def test_levels_agree_with_the_report(tmp_path: Path) -> None:
    report = with_kernels(a_report(tmp_path))
    rows = read_rows(report)
    assert tuple(rows[0]) == COLUMNS
    for variant in report.variants:
        own = [row for row in rows if row["experiment"] == variant.experiment]
        (latency,) = [row for row in own if row["level"] == "latency"]
        assert variant.latency is not None
        assert float(latency["median_ms"]) == variant.latency.median_ms
        categories = [row for row in own if row["level"] == "category"]
        assert sum(float(row["share"]) for row in categories) == pytest.approx(1.0)
        operators = [row for row in own if row["level"] == "operator"]
        assert [row["identity"] for row in operators] == [row.identity for row in variant.operators]
        assert {row["delegated"] for row in operators} == {"true", "false"}
    assert [row["kernels"] for row in rows if row["kernels"]] == ["kai_matmul_sme2_mopa"]


def test_a_variant_without_a_latency_has_a_row_that_says_why(tmp_path: Path) -> None:
    rows = read_rows(emulated(tmp_path))
    assert [(row["level"], row["name"]) for row in rows] == [("missing", "emulated: times not meaningful")] * 2


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_a_name_that_looks_like_a_formula_is_text(sign: str, tmp_path: Path) -> None:
    report = a_report(tmp_path)
    name = f'{sign}HYPERLINK("x")'
    first, *others = report.variants[0].operators
    variant = replace(report.variants[0], experiment=name, operators=(replace(first, name=name), *others))
    rows = read_rows(replace(report, variants=(variant,), comparisons=()))
    assert {row["experiment"] for row in rows} == {f"'{name}"}
    assert f"'{name}" in {row["name"] for row in rows}
