"""Markdown: tables stay whole, names stay text, and charts are linked where they lie."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etprof.core.layout import CHART_FOLDER
from etprof.reports.markdown import escape_text, render, render_files, tidy
from report_builder import HOSTILE, a_report, many_operators, untraced


def test_every_chart_is_linked_and_lies_where_its_link_says(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    text, files = render(report), render_files(report)
    linked = {part.partition(")")[0] for part in text.split("](")[1:]}
    assert linked == {name for name in files if name.endswith(".svg")}
    assert {name.partition("/")[0] for name in files} == {CHART_FOLDER}
    assert set(render_files(untraced(tmp_path))) == {"charts/latency.svg", "charts/latency.png"}


def test_a_long_table_says_where_the_rest_is(tmp_path: Path) -> None:
    text = render(many_operators(tmp_path, 40))
    assert "The 15 slowest operators; 29 more are in `analysis_summary.json` and `report.csv`." in text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a|b", r"a\|b"), ("two\nlines", "two lines"), ("<b>*x*</b>", r"\<b\>\*x\*\</b\>"), ("[a](b)", r"\[a\](b)")],
)
def test_markup_in_a_name_is_text(text: str, escaped: str) -> None:
    assert escape_text(text) == escaped


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    found = escape_text(text)
    assert "\n" not in found
    assert "|" not in found.replace("\\\\", "").replace("\\|", "")


def test_a_hostile_title_is_a_title(tmp_path: Path) -> None:
    assert "<script" not in escape_text(HOSTILE).replace("\\<", "")


def test_blank_lines_are_put_in_order() -> None:
    assert tidy("\n\na\n\n\n\nb\n| x |\n\n| y |\n\n") == "a\n\nb\n| x |\n| y |\n"
