"""Several runs on one page: a line for each comparison, labels that tell them apart, nothing lost."""

import json
from dataclasses import replace
from pathlib import Path

from etprof.reports.combined import PAGES, CombinedReport
from report_builder import HOSTILE, a_report, emulated, hostile, one_variant


def test_every_page_has_a_line_for_each_comparison_and_lonely_variant(tmp_path: Path) -> None:
    pair = a_report(tmp_path)
    twice = replace(pair, comparisons=(*pair.comparisons, *pair.comparisons))
    page = CombinedReport("Three", (("first", pair), ("second", twice), ("third", one_variant(tmp_path))))
    assert [entry.run for entry in page.entries] == ["first", "second", "second", "third"]
    markdown = PAGES[".md"](page)
    assert sum(line.startswith("| second |") for line in markdown.splitlines()) == 2
    html = PAGES[".html"](page)
    assert html.count('<td class="name"><a href="#run') == 4
    assert "2.40x (2.39x to 2.41x)" in html
    reports = json.loads(PAGES[".json"](page))["reports"]
    assert list(reports) == ["first", "second", "third"]
    assert reports["first"]["schema_version"] == 3


def test_a_hostile_name_is_only_text(tmp_path: Path) -> None:
    page = CombinedReport(HOSTILE, ((HOSTILE, hostile(tmp_path)),))
    assert "<script" not in PAGES[".html"](page)
    rows = [line for line in PAGES[".md"](page).splitlines() if line.startswith("|")]
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1


def test_an_emulated_run_has_no_time_beside_real_ones(tmp_path: Path) -> None:
    page = CombinedReport("Two", (("real", a_report(tmp_path)), ("emulated", emulated(tmp_path))))
    (row,) = [line for line in PAGES[".md"](page).splitlines() if line.startswith("| emulated |")]
    assert " ms" not in row
    assert "emulated: times not meaningful" in row
