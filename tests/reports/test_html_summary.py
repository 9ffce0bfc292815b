"""The summary for notebooks: the main numbers, no markup from names, and nothing to fetch from elsewhere."""

from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from etprof.core.findings import Finding, FindingKind
from etprof.core.report import NextStep, Report
from etprof.reports.html_summary import render
from report_builder import HOSTILE, a_report, emulated, hostile, one_variant, untraced, with_kernels


class Fragment(HTMLParser):
    """What a browser makes of a piece of HTML: its elements, its attributes and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_summary_has_verdict_latency_categories_steps_and_findings(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    finding = Finding(FindingKind.SPREAD, "Block medians differ.", "Close other programs.")
    text = Fragment(render(replace(report, findings=(finding,)))).text
    for expected in (
        "on against off (1 thread): faster, speed-up 2.40x (95 % interval",
        "4.80 ms",
        "2.00 ms",
        "Convolution",
        "Next steps",
        report.next_steps[0].title,
        "Block medians differ. Close other programs.",
    ):
        assert expected in text


@pytest.mark.parametrize("make", [a_report, one_variant, untraced, emulated, hostile])
def test_a_summary_stands_by_itself(make: Callable[[Path], Report], tmp_path: Path) -> None:
    fragment = Fragment(render(make(tmp_path)))
    assert fragment.open == [], "every element is closed"
    assert fragment.tags <= {
        "div", "p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td", "ol", "ul", "li", "details", "summary",
        "code",
    }  # fmt: skip
    assert fragment.attributes <= {"style", "colspan"}


def test_no_name_of_a_report_becomes_markup(tmp_path: Path) -> None:
    report = hostile(tmp_path)
    variants = tuple(replace(variant, experiment=f"{variant.experiment}{HOSTILE}") for variant in report.variants)
    (comparison,) = report.comparisons
    comparison = replace(
        comparison,
        baseline=variants[0].variant,
        candidate=variants[1].variant,
        categories=tuple(replace(row, name=HOSTILE) for row in comparison.categories),
    )
    report = replace(
        report,
        variants=variants,
        comparisons=(comparison,),
        context={"cpu": HOSTILE},
        findings=(Finding(FindingKind.NOTE, HOSTILE, HOSTILE),),
        next_steps=(NextStep(variants[1].variant, HOSTILE, HOSTILE, 1.0, 0.5, HOSTILE, HOSTILE),),
    )
    html = render(report)
    assert "script" not in Fragment(html).tags
    assert Fragment(html).text.count("<script>alert(1)</script>") >= 10
    assert "<script" not in html


def test_an_emulated_run_has_no_time_in_its_summary(tmp_path: Path) -> None:
    text = Fragment(render(with_kernels(emulated(tmp_path)))).text
    assert "emulated" in text
    assert "SME2 executed: yes" in text
    assert " ms" not in text
    assert "%" not in text.split("Iterations")[1]


def test_steps_of_several_variants_name_theirs(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    steps = tuple(replace(report.next_steps[0], variant=variant.variant) for variant in report.variants)
    assert "(off, 1 thread)" not in Fragment(render(report)).text
    assert "(off, 1 thread)" in Fragment(render(replace(report, next_steps=steps))).text
