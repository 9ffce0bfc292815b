"""Charts: every sample is drawn, colours mean one category, units and counts are written on each."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from etprof.core.categories import CATEGORIES, DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD
from etprof.reports import charts
from etprof.reports.html import render
from etprof.reports.palette import category_colour
from report_builder import a_report, hostile, one_variant, untraced

WATERFALLS = ("categories", "waterfall_categories", "waterfall_operators")


def texts(svg: str) -> list[str]:
    return [
        node.text or "" for node in ET.fromstring(svg).iter() if node.tag.endswith("text") or node.tag.endswith("tspan")
    ]


def test_a_pair_has_its_four_charts_and_one_variant_has_two(tmp_path: Path) -> None:
    names = [chart.name for chart in charts.list_charts(a_report(tmp_path))]
    assert names == ["latency", "categories", "waterfall_categories", "waterfall_operators"]
    assert [chart.name for chart in charts.list_charts(one_variant(tmp_path))] == ["latency", "categories"]
    assert [chart.name for chart in charts.list_charts(untraced(tmp_path))] == ["latency"]


def test_each_comparison_has_charts_of_its_own(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    untraced_one = replace(report.comparisons[0], categories=(), operators=())
    several = replace(report, comparisons=(untraced_one, *report.comparisons, *report.comparisons))
    names = [chart.name for chart in charts.list_charts(several)]
    assert names[1:] == [f"{n}{suffix}" for suffix in ("", "_2") for n in WATERFALLS]
    assert render(several).count("<figure>") == len(names)


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
def test_every_chart_carries_its_unit_and_its_count(width: int, tmp_path: Path) -> None:
    for chart in charts.list_charts(a_report(tmp_path)):
        written = " ".join(texts(chart.draw(width).render()))
        assert re.search(r"\bms\b", written), chart.name
        assert re.search(r"n = 20 in 4 blocks|mean of 3 and 3 traced", written), chart.name


def test_every_sample_is_a_point(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    drawing = charts.list_charts(report)[0].draw(charts.WIDE)
    assert len(drawing.points) == sum(len(b) for variant in report.variants for b in variant.samples_ms)


def test_points_that_would_cover_one_another_are_drawn_once(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    crowd = replace(report.variants[0], samples_ms=tuple((4.8,) * 5000 for _ in range(4)))
    drawing = charts.draw_latency([crowd], charts.WIDE)
    assert len(drawing.points) < 500


def test_samples_that_lie_close_together_far_from_zero_stay_apart(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[0]
    assert variant.latency is not None
    latency = replace(variant.latency, min_ms=1000.0, max_ms=1000.1)
    close = replace(variant, latency=latency, samples_ms=(tuple(1000 + i / 1000 for i in range(101)),))
    drawing = charts.draw_latency([close], charts.WIDE)
    assert len(drawing.points) == 101


def test_waterfalls_end_where_the_candidate_begins(tmp_path: Path) -> None:
    for chart in charts.list_charts(a_report(tmp_path))[2:]:
        baseline, *steps, candidate = chart.draw(charts.WIDE).bars
        assert steps[0].end == pytest.approx(baseline.end)
        assert min(steps[-1].start, steps[-1].end) == pytest.approx(candidate.end, abs=1e-9)


def test_no_two_categories_share_a_colour() -> None:
    names = (*CATEGORIES, DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD)
    assert len({category_colour(name).fill for name in names}) == len(names)


def test_svg_png_and_html_come_from_the_same_drawing(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    files = charts.render_files(report)
    page = render(report)
    for chart in charts.list_charts(report):
        assert files[f"{chart.name}.png"].startswith(b"\x89PNG")
        for text in texts(files[f"{chart.name}.svg"].decode()):
            assert text in page


def test_a_hostile_name_is_text_in_a_chart(tmp_path: Path) -> None:
    for chart in charts.list_charts(hostile(tmp_path)):
        root = ET.fromstring(chart.draw(charts.NARROW).render())
        assert not [node for node in root.iter() if node.tag.endswith("script")]
