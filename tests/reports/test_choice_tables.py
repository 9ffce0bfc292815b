"""The choice between builds in words: the sentence, what is open, and what is said where weights are random."""

from dataclasses import replace
from typing import Any

from builders import a_loaded_run
from etprof.analysis.exploration import find_dropped
from etprof.analysis.report import build_report
from etprof.core.exploration import Choice, LayerLoss, Standing
from etprof.core.report import Report
from etprof.reports import FORMATS, choice_tables
from etprof.reports.charts import draw_pareto, list_charts
from etprof.reports.first_screen import build_first_screen
from exploration_builder import a_race, an_exploration


def a_report(rounds: int = 6, **changes: Any) -> Report:
    session = a_race(rounds=rounds, exploration=an_exploration(**changes))
    assert session.exploration is not None
    session = replace(session, dropped=find_dropped(session, session.exploration))
    return build_report(a_loaded_run(session), title="A choice", created_at="2026-01-02T00:00:00+00:00")


def a_choice(rounds: int = 6, **changes: Any) -> Choice:
    choice = a_report(rounds, **changes).choice
    assert choice is not None
    return choice


def test_the_sentence_names_the_fastest_and_the_smallest() -> None:
    sentence = choice_tables.answer_sentence(a_choice())
    assert sentence.startswith("Fastest and smallest: static_per_channel, 1 thread, 8.03 ms (")
    assert sentence.endswith("SNR 31.0 dB, 11.0 MiB.")


def test_the_sentence_names_the_floor() -> None:
    sentence = choice_tables.answer_sentence(a_choice(min_snr_db=50.0))
    assert sentence.startswith("Fastest with an SNR of at least 50 dB: fp32, 1 thread, 20.07 ms (")
    assert "; smallest: fp16, 1 thread, 20.0 MiB, 20.29 ms (" in sentence


def test_a_floor_that_nothing_reaches_is_said_with_the_closest() -> None:
    said = choice_tables.answer_sentence(a_choice(min_snr_db=95.0))
    assert said == "No build reaches an SNR of at least 95 dB; the closest is fp32, 1 thread: SNR 90.0 dB."


def test_what_is_open_is_said_with_what_would_decide_it() -> None:
    answers = list(choice_tables.list_answers(a_choice()))
    (opened,) = (answer for answer in answers if answer.startswith("The time was too short to decide"))
    assert "fp16, 1 thread against fp32, 1 thread (" in opened
    assert opened.endswith("of measuring: go on with --resume and a --budget of that.")


def test_random_weights_have_numerics_and_no_accuracy() -> None:
    random, own = a_choice(has_random_weights=True), a_choice()
    assert choice_tables.RANDOM_WEIGHTS in choice_tables.list_answers(random)
    assert "numerics (SNR)" in choice_tables.build_table(random).headings
    assert "accuracy (SNR)" in choice_tables.build_table(own).headings
    assert choice_tables.RANDOM_WEIGHTS not in choice_tables.list_answers(own)


def test_who_is_not_in_the_front_has_a_reason() -> None:
    reasons = choice_tables.list_reasons(a_choice())
    assert [reason.partition(":")[0] for reason in reasons] == ["static_per_tensor, 1 thread", "linear_dynamic_4bit"]
    assert reasons[1] == "linear_dynamic_4bit: not measured, The model has no linear layer."


def test_every_format_has_the_answer() -> None:
    losses = (LayerLoss("stem.conv", 40.0), LayerLoss("head", 30.0))
    report = a_report(sensitivity=losses, sensitivity_scheme="static_per_channel")
    for name in ("console", "md", "html", "json"):
        text = FORMATS[name].render(report).replace("\\", "")
        assert "static_per_channel" in text, name
        assert "head" in text, name


def test_the_front_is_drawn_with_numbers_and_the_others_as_rings() -> None:
    report = a_report()
    (chart,) = (chart for chart in list_charts(report) if chart.name == "pareto")
    assert "static_per_channel, 1 thread: 8.03 ms, SNR 31.0 dB" in chart.caption
    assert report.choice is not None
    measured = [row for row in report.choice.rows if row.latency_ms is not None]
    drawing = draw_pareto(report.choice, measured, 520)
    assert len(drawing.points) == 5
    assert drawing.body.count('fill="none"') == 1
    assert max(point.y for point in drawing.points) == 60.0, "beyond that an SNR is rounding"


def test_the_first_screen_has_the_latencies_of_the_front_with_the_fastest_first() -> None:
    report = a_report()
    assert report.choice is not None
    assert report.choice.fastest is not None
    front = {row.variant.label for row in report.choice.rows if row.variant and row.standing is Standing.FRONT}
    labels = [label for label, _, _ in build_first_screen(report).latencies]
    assert labels[0] == report.choice.fastest.label
    assert set(labels) <= front
    assert len(front) < len(report.measured), "one was dropped"
