"""Groups of operators as tables, in the page, in Markdown, in CSV and on a terminal."""

import csv
import io
import re
from pathlib import Path

import pytest

from etprof.reports import FORMATS
from etprof.reports.console import list_rollups
from etprof.reports.operator_tables import build_operator_tables
from etprof.reports.rollup_tables import as_text_table, build_rollup_tables
from etprof.reports.text_table import render_table
from report_builder import a_report, one_variant, untraced, with_graph, with_roofline


def test_a_comparison_has_a_table_for_each_grouping(tmp_path: Path) -> None:
    kinds, modules, shapes = build_rollup_tables(with_graph(tmp_path), most=40)
    assert [table.by for table in (kinds, modules, shapes)] == ["kind", "module", "shape"]
    headings = [column.heading for column in kinds.columns]
    assert headings == ["off", "on", "share", "speed-up", "operators", "MACs", "GMAC/s before", "GMAC/s"]
    (first, cells) = kinds.lines[0]
    assert first == "3x3 convolution"
    assert cells == ("3.00 ms", "0.752 ms", "38.6 %", "3.99x", "1", "453 M", "151", "602")
    assert [name for name, _ in modules.lines] == ["stem.conv", "head", "no module", "stem.token", "up"]
    assert shapes.lines[0][0] == "3x3 convolution: 1x64x64x64 * 192x3x3x64 -> 1x64x64x192"


def test_without_a_graph_kinds_come_from_names_and_have_no_work(tmp_path: Path) -> None:
    (kinds,) = build_rollup_tables(a_report(tmp_path), most=40)
    assert [column.heading for column in kinds.columns] == ["off", "on", "share", "speed-up", "operators"]
    (single,) = build_rollup_tables(one_variant(tmp_path), most=2)
    assert [column.heading for column in single.columns] == ["time", "share", "operators"]
    assert (len(single.lines), single.left_out) == (2, 4)
    assert build_rollup_tables(untraced(tmp_path), most=40) == []


def test_the_operator_table_tells_id_module_shapes_and_rate(tmp_path: Path) -> None:
    (table,) = build_operator_tables(with_graph(tmp_path))
    assert table.columns[-2:] == ("speed-up", "GMAC/s")
    first = table.lines[0]
    assert (first.identity, first.module, first.kind) == ("d0.0", "stem.conv", "3x3 convolution")
    assert first.shapes == "1x64x64x64 * 192x3x3x64 -> 1x64x64x192"
    assert first.cells[-1].text == "602"
    inserted = next(line for line in table.lines if line.identity == "d0.1")
    assert (inserted.module, inserted.cells[-1].text) == ("after stem.conv", "")


def test_the_operator_table_tells_what_part_of_its_ceiling_an_operator_reaches(tmp_path: Path) -> None:
    report = with_roofline(tmp_path)
    (table,) = build_operator_tables(report)
    assert table.columns[-1] == "of ceiling"
    roofline = report.of(report.comparisons[0].candidate).roofline
    assert roofline
    shares = {row.identity: row.share_of_ceiling for row in roofline.rows}
    cells = {str(line.identity): line.cells[-1] for line in table.lines}
    assert {name: cell.value for name, cell in cells.items() if cell.text} == shares
    assert cells["p0"].text == ""


@pytest.mark.parametrize("name", ["md", "html"])
def test_a_document_shows_ids_modules_and_rates(name: str, tmp_path: Path) -> None:
    text = FORMATS[name].render(with_graph(tmp_path))
    module, shape = ("By module", "By shape") if name == "md" else ("Time by module", "By kind and shapes")
    for words in ("d0.0", "stem.", "3x3 convolution", "GMAC/s before", module, shape):
        assert words in text, words
    assert text.count("<details") == text.count("</details>") == (2 if name == "md" else 3)


def test_markdown_tables_stand_whole(tmp_path: Path) -> None:
    text = FORMATS["md"].render(with_graph(tmp_path))
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


def test_the_csv_has_the_work_of_operators_and_of_groups(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].render(with_graph(tmp_path)))))
    operator = next(row for row in rows if row["level"] == "operator" and row["identity"] == "d0.0")
    assert (operator["kind"], operator["weight_shape"], operator["macs"]) == (
        "3x3 convolution",
        "192x3x3x64",
        "452984832",
    )
    groups = [row for row in rows if row["level"] == "by kind" and row["experiment"] == "on"]
    assert groups[0]["name"] == "3x3 convolution"
    assert float(groups[0]["gmac_per_s"]) == pytest.approx(float(operator["gmac_per_s"]) * 4, rel=0.01)
    assert {row["level"] for row in rows} == {"latency", "category", "operator", "by kind", "by module", "by shape"}


@pytest.mark.parametrize("width", [80, 120, None])
def test_less_important_columns_leave_a_narrow_terminal_first(width: int | None, tmp_path: Path) -> None:
    (table,) = list_rollups(with_graph(tmp_path), "kind", None)
    lines = render_table(as_text_table(table), width).splitlines()
    assert width is None or max(map(len, lines)) <= width
    (row,) = [line for line in lines if line.startswith("3x3 convolution")]
    assert re.search(r"3\.00 ms +0\.752 ms +38\.6 % +3\.99x .* 602$", row)


def test_the_console_shows_kinds_of_layers(tmp_path: Path) -> None:
    text = FORMATS["console"].render(with_graph(tmp_path))
    assert "Operators by kind (traced, per inference); baseline: off, candidate: on" in text
