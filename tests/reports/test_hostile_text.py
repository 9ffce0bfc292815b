"""Text from a model or a device is text in every Markdown and CSV file, whatever it looks like."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etprof.app.trace_tables import write_timelines
from etprof.core.csv_cells import guard_cell, unguard_cell
from etprof.core.findings import Finding, FindingKind
from etprof.core.report import Report
from etprof.core.samples import EXECUTED, KernelLine
from etprof.reports import csv as report_csv
from etprof.reports import kernel_view, markdown, pipeline_summary
from etprof.reports.combined import CombinedReport, render_markdown
from etprof.store.kernel_files import load_kernels, write_rows
from etprof.store.timeline_files import load_timeline, render_records
from report_builder import a_report
from trace_builder import an_inference, read_inferences

EVIL = '=HYPERLINK("x")|<script>alert(1)</script>[a](javascript:b)`c`\n# d'
MARKUP = re.compile(r"(?<!\\)<script|(?<!\\)\[a\]|(?<!\\)`c|^# d|(?<!\\)\|(?=\\?<script)", re.MULTILINE)


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """A report in which everything that comes from outside is hostile."""
    plain = a_report(tmp_path)
    variants = tuple(
        replace(
            variant,
            operators=tuple(replace(row, name=EVIL, module_path=EVIL) for row in variant.operators),
            runner=EVIL,
        )
        for variant in plain.variants
    )
    return replace(
        plain,
        title=EVIL,
        model=EVIL,
        context=dict.fromkeys(plain.context, EVIL),
        variants=variants,
        comparisons=tuple(replace(each, bottleneck_after=EVIL, reason=EVIL) for each in plain.comparisons),
        findings=(Finding(FindingKind.NOTE, EVIL, EVIL),),
        # Its advice is a text of ours, with commands marked as code.
        next_steps=tuple(replace(step, title=EVIL, reason=EVIL) for step in plain.next_steps),
    )


def a_line() -> KernelLine:
    return KernelLine(EXECUTED, EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, 3, 4, EVIL, EVIL, EVIL)


def test_markup_in_a_name_is_escaped_in_every_markdown_file(report: Report) -> None:
    texts = {
        "report": markdown.render(report),
        "summary": pipeline_summary.render_markdown(report, EVIL),
        "combined": render_markdown(CombinedReport(EVIL, ((EVIL, report), (f"{EVIL}2", report)))),
        "kernels": kernel_view.render_markdown(EXECUTED, [(EVIL, EVIL, True, (a_line(),), ())]),
    }
    for name, text in texts.items():
        assert "HYPERLINK" in text, name
        assert not MARKUP.search(text), (name, MARKUP.search(text))


def test_a_formula_in_a_name_is_text_in_every_csv_file(report: Report, tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference([(EVIL, 5)]))
    every, first = write_timelines(tmp_path, "a", [trace], model_id=EVIL)
    write_rows(tmp_path / "kernels.csv", [{"operator": EVIL, "kernel": EVIL, "level": EVIL}])
    texts = [
        report_csv.render(report),
        kernel_view.render_csv(EXECUTED, [(EVIL, EVIL, True, (a_line(),), ())]),
        render_records(["name"], [{"name": EVIL}]),
        *(path.read_text() for path in (every, first, tmp_path / "kernels.csv")),
    ]
    for text in texts:
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        assert any("HYPERLINK" in cell for cell in cells)
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))]
    (again,) = load_timeline(every)
    assert EVIL in again.names, "what is read back is the name itself"
    assert load_kernels(tmp_path / "kernels.csv")[0].kernel == EVIL


@pytest.mark.parametrize("number", ["-1", "-0.5", "+3", "1e-9", "-1.5e3"])
def test_a_number_stays_one(number: str) -> None:
    assert guard_cell(number) == number
    assert guard_cell(-1.5) == -1.5


@given(st.text(alphabet="'=+-@\t\r1a.e", max_size=6))
def test_a_guarded_cell_is_read_back_as_it_was(text: str) -> None:
    guarded = guard_cell(text)
    assert unguard_cell(str(guarded)) == text
