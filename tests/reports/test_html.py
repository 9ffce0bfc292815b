"""The HTML report: one file that needs nothing else, in which no name is markup."""

import re
from pathlib import Path

from etprof.reports.charts import list_charts
from etprof.reports.html import render
from report_builder import a_report, hostile, many_operators, with_kernels


def test_a_hostile_name_has_no_tag_of_its_own(tmp_path: Path) -> None:
    text = render(hostile(tmp_path))
    assert "<script>alert" not in text
    assert text.count("<script") == 2
    assert "&lt;script&gt;alert(1)" in text


def test_a_report_of_thousands_of_operators_stays_below_three_megabytes(tmp_path: Path) -> None:
    text = render(many_operators(tmp_path, 5000))
    assert len(text.encode()) < 3_000_000
    assert "more are in the raw data" in text


def test_nothing_leads_out_of_the_file(tmp_path: Path) -> None:
    text = render(a_report(tmp_path))
    for outside in ('src="', "url(", "@import", 'href="http', "fetch(", "XMLHttpRequest", "importScripts"):
        assert outside not in text
    assert "default-src 'none'" in text


def test_every_chart_is_drawn_for_a_desk_and_for_a_phone(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    text = render(report)
    charts = list_charts(report)
    assert text.count('<div class="wide"') == text.count('<div class="narrow"') == len(charts)
    assert [chart.caption in text for chart in charts] == [True] * len(charts)


def test_every_link_inside_the_page_has_its_target(tmp_path: Path) -> None:
    text = render(with_kernels(a_report(tmp_path)))
    targets = set(re.findall(r'href="#(\w+)"', text))
    assert len(targets) == 11
    assert targets <= set(re.findall(r'id="(\w+)"', text))


def test_code_in_a_sentence_is_set_as_code(tmp_path: Path) -> None:
    text = render(a_report(tmp_path))
    assert "<code>mode</code> is <code>trace</code>" in text
    assert "`" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
