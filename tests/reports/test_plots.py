"""Plots as SVG: bars and points stand where their values say, ticks are round, labels keep clear of one another."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from etprof.reports.palette import INK, PAPER, category_colour
from etprof.reports.plots import Bar, Drawing, Line, Mark, Median, Point, Row, Title, draw_bars, draw_lines, draw_points

WIDTH = 600
TITLE = Title("A title", "and what it is about")
NAMESPACE = "{http://www.w3.org/2000/svg}"


def elements(drawing: Drawing, tag: str) -> list[ET.Element]:
    return list(ET.fromstring(drawing.render(paper=False)).iter(f"{NAMESPACE}{tag}"))


def numbers(drawing: Drawing, tag: str, name: str) -> list[float]:
    return [float(each.attrib[name]) for each in elements(drawing, tag)]


def texts(drawing: Drawing) -> list[str]:
    return [each.text or "" for each in elements(drawing, "text")]


def bars(*given: Bar, unit: str | None = "ms", width: int = WIDTH) -> Drawing:
    rows = [Row(number, f"row {number}", "") for number in range(max(bar.row for bar in given) + 1)]
    return draw_bars(given, rows, width=width, title=TITLE, unit=unit)


def test_bars_are_as_long_as_their_values() -> None:
    drawing = bars(Bar(0, "", 0.0, 8.0, ""), Bar(1, "GEMM", 2.0, 4.0, ""))
    whole, part = elements(drawing, "rect")[:2]
    assert float(part.attrib["width"]) == pytest.approx(float(whole.attrib["width"]) / 4, abs=0.1)
    left, length = float(whole.attrib["x"]), float(whole.attrib["width"])
    assert float(part.attrib["x"]) == pytest.approx(left + length / 4, abs=0.1)
    assert part.attrib["fill"] == category_colour("GEMM").fill
    assert "fill" not in whole.attrib


def test_points_lie_between_their_neighbours_ticks() -> None:
    points = [Point(3.0, 0.5), Point(4.0, 0.6), Point(5.0, 0.7)]
    drawing = draw_points(points, [Median(4.0, 0.4, 0.9)], [Row(0, "on", "")], width=WIDTH, title=TITLE)
    first, second, third = numbers(drawing, "circle", "cx")
    assert second - first == pytest.approx(third - second, abs=0.2)
    assert all(0 < x < WIDTH for x in (first, second, third))


@pytest.mark.parametrize(("high", "expected"), [(6.19, ["0", "1", "2"]), (0.042, ["0.00", "0.01"]), (910.0, ["0"])])
def test_ticks_are_round_numbers(high: float, expected: list[str]) -> None:
    written = [text for text in texts(bars(Bar(0, "", 0.0, high, ""))) if re.fullmatch(r"[\d.]+", text)]
    assert written[: len(expected)] == expected
    steps = {round(float(b) - float(a), 9) for a, b in pairwise(written)}
    assert len(steps) == 1
    assert f"{steps.pop():e}"[0] in "125"


def test_without_a_unit_there_is_no_axis() -> None:
    assert not elements(bars(Bar(0, "GEMM", 0.0, 1.0, "1 ms"), unit=None), "path")


def test_each_category_stands_once_in_the_legend() -> None:
    drawing = bars(Bar(0, "GEMM", 0.0, 1.0, ""), Bar(1, "GEMM", 0.0, 1.0, ""), Bar(1, "Other", 1.0, 2.0, ""))
    assert texts(drawing).count("GEMM") == 1
    assert texts(drawing).count("Other") == 1


def test_a_name_that_is_too_long_is_shortened_and_its_value_is_not() -> None:
    rows = [Row(0, "a long name " * 20, "12.3 ms")]
    drawing = draw_bars([Bar(0, "", 0.0, 1.0, "")], rows, width=330, title=TITLE, unit=None)
    (label,) = [text for text in texts(drawing) if "long name" in text]
    assert label.endswith("\u2026: 12.3 ms")
    assert len(label) * 6.4 <= 330


def test_a_file_has_paper_and_ink_and_a_page_brings_its_own() -> None:
    drawing = bars(Bar(0, "", 0.0, 1.0, ""))
    for colour in (PAPER, INK):
        assert colour in drawing.render()
        assert colour not in drawing.render(paper=False)


def test_names_cannot_leave_their_text() -> None:
    rows = [Row(0, "</text><script>x</script>\x1b", "")]
    drawing = draw_bars([Bar(0, "<b>", 0.0, 1.0, "<i>")], rows, width=WIDTH, title=Title("<u>", "&"), unit="<ms>")
    assert not elements(drawing, "script")
    assert "\x1b" not in drawing.render()


def test_a_single_value_is_drawn_too() -> None:
    drawing = draw_points([Point(2.0, 0.5)], [], [Row(0, "on", "")], width=WIDTH, title=TITLE)
    assert 0 < numbers(drawing, "circle", "cx")[0] < WIDTH


def test_marks_of_a_line_stand_at_their_values_and_twice_the_count_is_one_step_further() -> None:
    marks = (Mark(1, 8.0, 7.0, 9.0), Mark(2, 4.0, 4.0, 4.0), Mark(4, 2.0, 1.5, 2.5))
    drawing = draw_lines([Line("on", marks)], width=WIDTH, title=TITLE, across="threads")
    across, down = numbers(drawing, "circle", "cx"), numbers(drawing, "circle", "cy")
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)
    assert down[1] - down[0] == pytest.approx(2 * (down[2] - down[1]), abs=0.4)
    assert all(0 < x < WIDTH for x in across)
    assert all(0 < y < drawing.height for y in down)
    assert {"1", "2", "4", "threads", "on"} <= set(texts(drawing))


@pytest.mark.parametrize("width", [330, 760])
def test_lines_differ_in_colour_and_dashes_and_their_names_fit(width: int) -> None:
    lines = [Line(f"{'a long name ' * 9}{i}", (Mark(1, 2.0, 2.0, 2.0), Mark(3, i + 1.0, 1.0, 9.0))) for i in range(4)]
    drawing = draw_lines(lines, width=width, title=TITLE, across="threads")
    styles = {(p.get("stroke"), p.get("stroke-dasharray")) for p in elements(drawing, "path") if "h30" in p.attrib["d"]}
    assert len(styles) == len({stroke for stroke, _ in styles}) == 4
    assert len({dashes for _, dashes in styles}) == 4
    names = [text for text in texts(drawing) if text.startswith("a long")]
    assert len(names) == 4
    assert all(len(name) * 6.4 < width for name in names)
