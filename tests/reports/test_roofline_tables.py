"""The roofline in words and tables: what bounds, what is lost, and what is missing where there is none."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports import FORMATS, explanation
from etprof.reports.roofline_tables import (
    bounds_sentence,
    build_loss_tables,
    build_roofline_table,
    evidence_sentence,
    list_sentences,
    list_shown,
    missing_sentence,
    render_text,
    roofline_sentence,
    say_all,
)
from report_builder import a_report, emulated, untraced, with_graph, with_roofline


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return with_roofline(tmp_path)


def test_a_sentence_says_what_an_inference_cannot_beat_and_where_most_is_lost(report: Report) -> None:
    assert [label for label, _ in list_shown(report)] == ["on, 1 thread", "off, 1 thread"]
    label, roofline = list_shown(report)[-1]
    said = roofline_sentence(label, roofline)
    assert said.startswith("off, 1 thread: this inference cannot be faster than ")
    assert "on this CPU with these operators" in said
    assert " of the ceiling." in said
    # The portable operator has no inputs in this graph.
    assert "of that time is not known and counts as none." in said
    assert said.endswith(" above the ceiling.")


def test_bounds_are_shares_of_time_and_ceilings_say_where_they_come_from(report: Report) -> None:
    _, roofline = list_shown(report)[-1]
    assert bounds_sentence(roofline).startswith("Lowest ceiling, by time: compute ")
    assert evidence_sentence(roofline).startswith("Ceilings are those of the best instructions")
    seen = tuple(replace(row, is_executed=bool(row.ceiling)) for row in roofline.rows)
    assert evidence_sentence(replace(roofline, rows=seen)) == (
        "Ceilings are those of the instructions that were executed."
    )
    some = (seen[0], *roofline.rows[1:])
    assert "executed by 1 of 4 operators" in evidence_sentence(replace(roofline, rows=some))


def test_the_table_begins_with_the_largest_loss_and_says_what_it_leaves_out(report: Report) -> None:
    label, roofline = list_shown(report)[0]
    table = build_roofline_table(label, roofline, 2)
    assert (len(table.lines), table.left_out) == (2, len(roofline.rows) - 2)
    assert table.lines[0].name == roofline.rows[0].name
    kinds, modules = build_loss_tables(label, roofline, None)
    assert (kinds.heading, modules.heading) == ("Layer kind", "Module")
    assert "3x3 convolution" in kinds.names


@pytest.mark.parametrize("width", [60, 80, None])
def test_a_terminal_of_any_width_shows_loss_share_and_bound(width: int | None, report: Report) -> None:
    label, roofline = list_shown(report)[0]
    text = render_text(label, roofline, width, 5)
    for heading in ("time", "lost", "of ceiling", "bound by", "layer kind"):
        assert heading in text
    assert " ".join(text.split()).startswith(say_all(label, roofline))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (emulated, "This device is emulated"),
        (untraced, "no trace shows how long the operators take"),
        (a_report, "etprof export MODEL"),
        (with_graph, "`etprof devices peaks local`"),
    ],
    ids=["emulated", "untraced", "no graph", "no peaks"],
)
def test_where_there_is_none_the_section_says_what_is_missing(
    build: Callable[[Path], Report], said: str, tmp_path: Path
) -> None:
    report = build(tmp_path)
    assert said in missing_sentence(report)
    assert list_sentences(report) == [missing_sentence(report)]
    assert "Roofline" in FORMATS["html"].render(report)
    assert "## Roofline" in FORMATS["md"].render(report)


def test_a_remote_device_is_named_in_the_command(tmp_path: Path) -> None:
    report = with_graph(tmp_path)
    there = replace(report, context={**report.context, "device": "ssh:me@board"})
    assert "`etprof devices peaks ssh:me@board`" in missing_sentence(there)


def test_every_text_says_the_same_sentence_and_it_can_be_explained(report: Report) -> None:
    label, roofline = list_shown(report)[0]
    said = roofline_sentence(label, roofline)
    assert missing_sentence(report) == ""
    assert said in " ".join(FORMATS["console"].render(report).split())
    assert said in FORMATS["html"].render(report)
    assert "roofline" in explanation.list_subjects(report)
    assert said in explanation.render(report, "Roofline")
