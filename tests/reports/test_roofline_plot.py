"""The roofline as a plot: points where their numbers are, under lines that meet, at any width."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from etprof.core.roofline import Roof
from etprof.reports import charts
from etprof.reports.plots import Title
from etprof.reports.roofline_plot import Dot, draw_roofline
from report_builder import HOSTILE, a_report, with_roofline

MEMORY = (Roof("L1", 200.0), Roof("memory", 20.0))
COMPUTE = (Roof("AVX2, fp32", 100.0), Roof("AVX-512, fp32", 200.0))


def draw(*dots: Dot, width: int = charts.WIDE) -> str:
    return draw_roofline(dots, COMPUTE, MEMORY, width=width, title=Title("A roofline", "of a test")).render()


def circles(svg: str) -> list[tuple[float, float, float]]:
    found = [node for node in ET.fromstring(svg).iter() if node.tag.endswith("circle")]
    return [(float(node.attrib["cx"]), float(node.attrib["cy"]), float(node.attrib["r"])) for node in found]


def test_a_report_has_a_chart_for_each_variant_that_has_a_roofline(tmp_path: Path) -> None:
    found = [chart for chart in charts.list_charts(with_roofline(tmp_path)) if chart.name.startswith("roofline")]
    assert [chart.name for chart in found] == ["roofline", "roofline_2"]
    assert "cannot be faster than" in found[0].caption
    assert not [chart for chart in charts.list_charts(a_report(tmp_path)) if chart.name.startswith("roofline")]


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
def test_everything_lies_within_the_drawing(width: int) -> None:
    dots = (Dot(0.001, 1e-9, 1.0, "Convolution", "low"), Dot(5000.0, 190.0, 0.0, "GEMM", "high"))
    svg = draw(*dots, width=width)
    height = float(re.findall(r'height="([\d.]+)"', svg)[0])
    for x, y, radius in circles(svg):
        assert x >= radius
        assert x <= width
        assert 0 <= y <= height
    for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", svg):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height


def test_points_are_larger_the_longer_higher_the_faster_and_further_right_the_more_they_compute() -> None:
    slow, fast = circles(draw(Dot(1.0, 10.0, 1.0, "GEMM", "slow"), Dot(10.0, 100.0, 0.1, "GEMM", "fast")))
    assert slow[0] < fast[0]
    assert slow[1] > fast[1]
    assert slow[2] > fast[2]


def test_a_point_on_the_roof_lies_on_its_line() -> None:
    svg = draw(Dot(5.0, 100.0, 1.0, "GEMM", "ridge"), Dot(10.0, 200.0, 0.5, "GEMM", "far ridge"))
    (_, y, _), (far, top, _) = circles(svg)
    assert f" {y:.1f}H" in svg
    assert f"L{far:.1f} {top:.1f}" in svg


def test_hints_name_operator_and_module_and_do_no_harm(tmp_path: Path) -> None:
    svg = draw(Dot(1.0, 10.0, 1.0, "GEMM", HOSTILE))
    titles = [node.text or "" for node in ET.fromstring(svg).iter() if node.tag.endswith("title")]
    assert len(titles) == 1
    assert "<script>" in titles[0]
    found = next(c for c in charts.list_charts(with_roofline(tmp_path)) if c.name == "roofline_2")
    assert "(stem.conv): 3" in found.draw(charts.WIDE).render()
