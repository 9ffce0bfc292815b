"""The thread counts of a run in words: each answer with its interval, or that it is inconclusive."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.estimates import Interval, Verdict
from etprof.core.run import SmeUnits
from etprof.core.scaling import (
    Crossover,
    PartCurve,
    Scaling,
    ScalingCurve,
    StepEffect,
    ThreadPoint,
    ThreadStep,
    ThreadVerdict,
)
from etprof.reports import FORMATS, charts, thread_tables
from etprof.reports.text_table import render_table
from report_builder import HOSTILE, a_report, at_thread_counts

GAIN = Interval(1.9, 1.85, 1.95, 0.99)
LOSS = Interval(0.63, 0.6, 0.66, 0.99)
STEP = ThreadStep(1, 2, GAIN, StepEffect.GAINS)
CURVE = ScalingCurve(
    experiment="on",
    points=(
        ThreadPoint(1, 10.0, Interval(10.0, 9.9, 10.1)),
        ThreadPoint(2, 5.26, Interval(5.26, 5.2, 5.3), GAIN, Interval(0.95, 0.925, 0.975, 0.99)),
        ThreadPoint(4, 8.4, Interval(8.4, 8.3, 8.5), Interval(1.19, 1.1, 1.3), Interval(0.3, 0.275, 0.325)),
    ),
    steps=(STEP, ThreadStep(2, 4, LOSS, StepEffect.LOSES)),
    best=2,
    undecided=(),
    limit=ThreadStep(2, 4, LOSS, StepEffect.LOSES),
    serial_share=Interval(0.05, 0.04, 0.06),
    fitted_to=2,
    parts=(PartCurve("Matrix work", (8.0, 4.0, 7.0), None), PartCurve("Overhead", (2.0, 1.2, 1.4), None)),
    limiting_part="Matrix work",
)
LOST = Crossover(
    baseline="off",
    candidate="on",
    counts=(ThreadVerdict(1, GAIN, Verdict.FASTER), ThreadVerdict(4, LOSS, Verdict.SLOWER)),
    threads=4,
    undecided=(),
)


def a_scaling(curve: ScalingCurve = CURVE, *crossovers: Crossover) -> Scaling:
    return Scaling((curve,), crossovers, 9, 0.95, 0.02, usable_cores=8, performance_cores=4)


def answers(curve: ScalingCurve, *crossovers: Crossover) -> list[str]:
    return list(thread_tables.list_answers(a_scaling(curve, *crossovers)))


def test_every_answer_has_its_interval() -> None:
    assert answers(CURVE, LOST) == [
        "on: 2 threads are best, 5.26 ms: 1.90x (1.85x to 1.95x) the speed of 1 thread, "
        "efficiency 95 % (92 % to 98 %).",
        "on: beyond 2 threads a step loses: 4 threads run at 0.63x (0.60x to 0.66x) the speed of 2.",
        "on: Matrix work loses most time against ideal scaling; serial share 5 % (4 % to 6 %), fitted up to 2 threads.",
        "off is faster than on at 4 threads, where the speed-up of on is 0.63x (0.60x to 0.66x).",
    ]


def test_what_is_inconclusive_says_so() -> None:
    unclear = ThreadStep(1, 2, Interval(1.01, 0.95, 1.07), StepEffect.INCONCLUSIVE)
    curve = replace(CURVE, undecided=(1, 4), limit=unclear, limiting_part="", serial_share=None)
    never = replace(LOST, threads=None, undecided=(1, 4), counts=())
    assert answers(curve, never) == [
        "on: the best thread count is inconclusive: 1, 2 or 4 threads.",
        "on: whether the step from 1 to 2 threads gains is inconclusive: speed-up 1.01x (0.95x to 1.07x).",
        "on: which part loses most time against ideal scaling is inconclusive; "
        "serial share inconclusive, fitted up to 2 threads.",
        "Whether off is faster than on at 1 and 4 threads is inconclusive.",
    ]
    too_few = replace(curve, limit=replace(unclear, speedup=None), parts=(), fitted_to=None)
    assert answers(too_few)[1:] == ["on: whether the step from 1 to 2 threads gains is inconclusive: too few blocks."]


def test_an_ideal_curve_and_one_that_never_gains() -> None:
    said = answers(replace(CURVE, best=4, limit=None), replace(LOST, threads=None, counts=()))
    assert said[1] == "on: every step up to 4 threads gains."
    assert said[-1] == "off is faster than on at none of these thread counts."
    flat = ThreadStep(1, 2, Interval(1.0, 0.99, 1.01), StepEffect.NOTHING)
    said = answers(replace(CURVE, best=1, limit=flat))
    assert said[:2] == [
        "on: 1 thread is best, 10.00 ms; more threads are not faster.",
        "on: beyond 1 thread a step gains nothing: 2 threads run at 1.00x (0.99x to 1.01x) the speed of 1.",
    ]


def test_a_crossover_lists_all_counts_and_those_that_are_open_before_it() -> None:
    counts = tuple(ThreadVerdict(n, LOSS, Verdict.SLOWER) for n in (4, 8))
    (said,) = answers(CURVE, replace(LOST, counts=counts, undecided=(2,)))[3:]
    assert said == (
        "off is faster than on at 4 and 8 threads; at 4 threads the speed-up of on is 0.63x (0.60x to 0.66x). "
        "Whether it is at 2 threads is inconclusive."
    )


def test_the_number_of_comparisons_and_what_the_cpu_has_are_said() -> None:
    scaling = a_scaling()
    assert thread_tables.correction_sentence(scaling) == (
        "Verdicts and intervals of 9 comparisons hold together with 95 % confidence (Holm's correction)."
    )
    assert thread_tables.cores_sentence(scaling) == "Usable cores: 8; performance cores: 4."
    assumed = replace(scaling, sme_units=SmeUnits(2, is_shared=True, assumed_from="Apple M4 Pro"))
    assert thread_tables.cores_sentence(assumed).endswith("SME units: 2, shared, assumed from the name of the chip.")


@pytest.mark.parametrize("width", [60, 80, None])
def test_tables_fit_the_terminal_and_bars_are_as_long_as_the_speed(width: int | None) -> None:
    first, parts, lost = map(thread_tables.as_text_table, thread_tables.build_thread_tables(a_scaling(CURVE, LOST)))
    for table in (first, parts, lost):
        lines = render_table(table, width).splitlines()
        assert max(map(len, lines)) <= (width or 200)
    bars = [cell.count("#") for cell in first.columns[-1].cells]
    assert bars == [7, 14, 9]


@pytest.mark.parametrize("name", ["md", "html", "console"])
def test_reports_have_the_section_where_there_are_several_thread_counts(name: str, tmp_path: Path) -> None:
    report = at_thread_counts(tmp_path)
    assert report.scaling is not None
    text = " ".join(FORMATS[name].render(report).replace("&#39;", "'").split())
    for answer in thread_tables.list_all(report.scaling):
        assert answer in text
    assert "ideal scaling" not in FORMATS[name].render(a_report(tmp_path))


def test_the_csv_has_a_row_for_each_thread_count(tmp_path: Path) -> None:
    rows = [line for line in FORMATS["csv"].render(at_thread_counts(tmp_path)).splitlines() if ",threads," in line]
    assert [row.split(",")[:4] for row in rows[3:6]] == [
        ["off", "4", "threads", "gains"], ["on", "1", "threads", ""], ["on", "2", "threads", "gains"],
    ]  # fmt: skip


def test_charts_have_a_line_for_each_experiment_and_part_with_their_values_in_words(tmp_path: Path) -> None:
    report = at_thread_counts(tmp_path)
    drawn = {chart.name: chart for chart in charts.list_charts(report) if chart.name.startswith("threads")}
    assert list(drawn) == ["threads", "threads_parts", "threads_parts_2"]
    curves = drawn["threads"].draw(charts.WIDE)
    assert [line.name for line in curves.lines] == ["off", "on"]
    assert all(mark.low <= mark.value <= mark.high for line in curves.lines for mark in line.marks)
    assert drawn["threads"].caption.startswith("Latency by thread count. off: 4.8")
    assert "on: 2.00 ms at 1, 1.1" in drawn["threads"].caption
    assert drawn["threads_parts_2"].caption.count(" at 4") == 4


def test_a_hostile_name_of_an_experiment_does_no_harm() -> None:
    curve = replace(CURVE, experiment=HOSTILE)
    svg = charts.draw_thread_curves(a_scaling(curve), charts.WIDE).render()
    assert "<script>" not in svg
    assert "\x1b" not in svg
