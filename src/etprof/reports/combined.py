"""Several reports on one page: what each says in a line, then the categories of each and what to do next."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from markupsafe import Markup

from etprof.core.report import ArmReport, Comparison, Report
from etprof.reports import html, sentences
from etprof.reports import json as report_json
from etprof.reports.charts import draw_categories
from etprof.reports.markdown import build_environment, tidy

_READABLE_ARMS = 12


@dataclass(frozen=True)
class Entry:
    """One line of the overview: a comparison, or an arm that is compared with nothing."""

    run: str
    report: Report
    comparison: Comparison | None
    arms: tuple[ArmReport, ...]


@dataclass(frozen=True)
class CombinedReport:
    """Reports with the label that tells each from the others."""

    title: str
    reports: tuple[tuple[str, Report], ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for label, report in self.reports for entry in _entries(label, report))

    @property
    def traced_arms(self) -> tuple[ArmReport, ...]:
        """The arms of all entries that have a trace, named after their run, as many as a chart can hold."""
        arms = [
            replace(arm, experiment=f"{entry.run}: {arm.experiment}")
            for entry in self.entries
            for arm in entry.arms
            if arm.categories
        ]
        return tuple(arms[:_READABLE_ARMS])


def label_runs(paths: Sequence[str]) -> list[str]:
    """What tells folders apart: their paths without the parts that all of them share in front."""
    parts = [PurePath(path).parts for path in paths]
    shared = 0
    while all(len(p) > shared + 1 for p in parts) and all(a[shared] == b[shared] for a, b in pairwise(parts)):
        shared += 1
    return ["/".join(p[shared:]) for p in parts]


def render_html(page: CombinedReport) -> str:
    environment = html.build_environment()
    arms = page.traced_arms
    caption = f"Time per category of {len(arms)} arms."
    figure = html.draw_figure(lambda width: draw_categories(arms, width), caption) if arms else Markup("")
    return environment.from_string(_read("combined.html.j2")).render(
        page=page, say=sentences, css=Markup(html.read_template("report.css")), figure=figure
    )


def render_markdown(page: CombinedReport) -> str:
    return tidy(build_environment().from_string(_read("combined.md.j2")).render(page=page, say=sentences))


def render_json(page: CombinedReport) -> str:
    reports: dict[str, Any] = {label: json.loads(report_json.render(report)) for label, report in page.reports}
    return (
        json.dumps({"schema_version": 1, "title": page.title, "reports": reports}, indent=2, ensure_ascii=False) + "\n"
    )


PAGES: dict[str, Callable[[CombinedReport], str]] = {
    ".html": render_html,
    ".md": render_markdown,
    ".json": render_json,
}


def _entries(label: str, report: Report) -> list[Entry]:
    by_key = {(arm.experiment, arm.threads): arm for arm in report.arms}
    compared = [
        Entry(label, report, c, (by_key[c.baseline, c.threads], by_key[c.candidate, c.threads]))
        for c in report.comparisons
    ]
    return compared or [Entry(label, report, None, (arm,)) for arm in report.arms]


def _read(name: str) -> str:
    return (resources.files("etprof.reports") / "templates" / name).read_text(encoding="utf-8")
