"""The summary of a report as a fragment of HTML, for notebooks: no script, no style of the page, nothing to fetch."""

from etprof.core.report import Report
from etprof.reports import program_tables, sentences
from etprof.reports.html import build_environment, read_template

_STEPS = 3


def render(report: Report) -> str:
    template = build_environment().from_string(read_template("summary.html.j2"))
    return template.render(report=report, say=sentences, programs=program_tables, steps=report.next_steps[:_STEPS])
