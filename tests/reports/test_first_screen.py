"""What a reader sees first, against the report it is made from."""

import json
import re
from pathlib import Path

import pytest

from etprof.core.units import format_ms, format_percent, format_ratio
from etprof.reports import FORMATS
from etprof.reports.first_screen import build_first_screen
from report_builder import a_report, at_thread_counts, emulated, one_variant, untraced, with_graph, with_kernels


def test_every_number_of_the_first_screen_is_that_of_the_json(tmp_path: Path) -> None:
    report = with_kernels(with_graph(tmp_path))
    data = json.loads(FORMATS["json"].render(report))
    text = re.sub(r"<[^>]+>", " ", FORMATS["html"].render(report).partition('<section id="latency">')[0])
    (comparison,) = data["comparisons"]
    interval = comparison["speedup"]
    assert f"{format_ratio(interval['value'])}" in text
    assert f"{format_ratio(interval['low'])} to {format_ratio(interval['high'])}" in text
    for variant in data["variants"]:
        latency = variant["latency"]
        for value in ("median_ms", "p5_ms", "p95_ms"):
            assert format_ms(latency[value]) in text
        for row in variant["categories"]:
            if row["mean_ms"] > 0:
                assert format_ms(row["mean_ms"]) in text
                assert format_percent(row["share"]) in text
    for step in data["next_steps"][:3]:
        assert step["title"] in text
        assert format_ms(step["saves_ms"]) in text


def test_bars_are_to_one_scale_and_the_longest_is_whole(tmp_path: Path) -> None:
    before, after = build_first_screen(a_report(tmp_path)).bars
    assert sum(part.percent for part in before.parts) == pytest.approx(100)
    assert 0 < sum(part.percent for part in after.parts) < 100
    assert (before.name, after.name) == ("off", "on")


def test_of_several_comparisons_the_first_is_large_and_the_steps_are_for_its_candidate(tmp_path: Path) -> None:
    report = at_thread_counts(tmp_path)
    screen = build_first_screen(report)
    assert len(screen.main) == 1
    assert screen.others == report.comparisons[1:3]
    assert {step.variant for step in screen.steps} == {report.comparisons[0].candidate}
    assert len(screen.steps) <= 3


def test_only_what_the_kernels_could_execute_is_told(tmp_path: Path) -> None:
    told = "SME2 executed: yes. Of all samples 95.2 %; elsewhere: 4.8 % outside of operators (runtime, tracer)."
    assert build_first_screen(with_kernels(a_report(tmp_path))).kernels == (told,)


def test_without_a_comparison_or_a_trace_there_is_what_was_measured(tmp_path: Path) -> None:
    single = build_first_screen(one_variant(tmp_path))
    assert (single.main, single.others, single.bottleneck) == ((), (), "")
    assert [label for label, _, _ in single.latencies] == ["off, 1 thread"]
    assert len(single.bars) == 1
    assert build_first_screen(untraced(tmp_path)).bars == ()
    assert build_first_screen(emulated(tmp_path)).latencies == ()
