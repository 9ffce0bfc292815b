"""Several reports on one page: what each says in a line, then the categories of each and what to do next."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from markupsafe import Markup

from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.units import format_count
from etprof.reports import choice_tables, html, program_tables, sentences
from etprof.reports import json as report_json
from etprof.reports.charts import draw_categories
from etprof.reports.device_gains import DeviceGain, gain_sentences, list_gains
from etprof.reports.first_screen import build_first_screen
from etprof.reports.markdown import build_environment, tidy

_READABLE_VARIANTS = 12


@dataclass(frozen=True)
class Entry:
    """One line of the overview: a comparison, or a variant that is compared with nothing."""

    run: str
    report: Report
    comparison: Comparison | None
    variants: tuple[VariantReport, ...]


@dataclass(frozen=True)
class CombinedReport:
    """Reports with the label that tells each from the others."""

    title: str
    reports: tuple[tuple[str, Report], ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for label, report in self.reports for entry in _entries(label, report))

    def number(self, entry: Entry) -> int:
        """Of its run, from 1."""
        return 1 + next(i for i, (_, report) in enumerate(self.reports) if report is entry.report)

    @property
    def gains(self) -> tuple[DeviceGain, ...]:
        """What extensions change on each device; none where all runs are of one device."""
        gains = list_gains(report for _, report in self.reports)
        return gains if len({gain.device for gain in gains}) > 1 else ()

    @property
    def gain_sentences(self) -> list[str]:
        return gain_sentences(self.gains)

    @property
    def traced_variants(self) -> tuple[VariantReport, ...]:
        """The variants of all entries that have a trace, named after their run, as many as a chart can hold."""
        variants = [
            replace(variant, experiment=f"{entry.run}: {variant.experiment}")
            for entry in self.entries
            for variant in entry.variants
            if variant.categories
        ]
        return tuple(variants[:_READABLE_VARIANTS])


def render_html(page: CombinedReport) -> str:
    environment = html.build_environment()
    variants = page.traced_variants
    caption = f"Time per category of {format_count(len(variants), 'variant')}."
    figure = html.draw_figure(lambda width: draw_categories(variants, width), caption) if variants else Markup("")
    return environment.from_string(_read("combined.html.j2")).render(
        page=page,
        say=sentences,
        choices=choice_tables,
        programs=program_tables,
        first_screen=build_first_screen,
        heading="h3",
        alone=False,
        css=Markup(html.read_template("report.css")),
        figure=figure,
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
    compared = [Entry(label, report, c, (report.of(c.baseline), report.of(c.candidate))) for c in report.comparisons]
    return compared or [Entry(label, report, None, (variant,)) for variant in report.measured]


def _read(name: str) -> str:
    return (resources.files("etprof.reports") / "templates" / name).read_text(encoding="utf-8")
