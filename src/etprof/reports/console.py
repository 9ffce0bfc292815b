"""The report on a terminal: the verdict, where the time goes, and what to doubt."""

import io

from rich.console import Console
from rich.table import Table

from etprof.core.report import ArmReport, Comparison, Report
from etprof.core.units import format_ms, format_percent, format_ratio
from etprof.reports import sentences
from etprof.reports.plain_text import printable

_WIDTH = 100
_STEPS = 3


def render(report: Report) -> str:
    console = Console(file=io.StringIO(), width=_WIDTH, highlight=False, emoji=False, markup=False, color_system=None)
    if not report.times_are_real:
        console.print(sentences.EMULATED)
    console.print(_latency_table(report))
    if not report.comparisons:
        _print_arms(console, report)
    for comparison in report.comparisons:
        if comparison.categories:
            console.print(_category_table(comparison))
        console.print(sentences.bottleneck_sentence(comparison))
        console.print(sentences.verdict_sentence(comparison))
        console.print(sentences.noise_sentence(comparison))
    for arm in report.arms:
        if arm.evidence:
            console.print(f"{arm.label}: {arm.evidence.verdict}")
    several = len({step.arm for step in report.next_steps}) > 1
    for number, step in enumerate(report.next_steps[:_STEPS], start=1):
        of_arm = f" ({step.arm})" if several else ""
        console.print(f"next step {number}{of_arm}: {step.title}: {sentences.gain_sentence(step)}.")
    for finding in report.findings:
        console.print(f"finding: {finding.message} {finding.advice}")
    assert isinstance(console.file, io.StringIO)  # what it was given above
    # Names come from models and devices: none of them may steer the terminal.
    return "\n".join(printable(line.rstrip()) for line in console.file.getvalue().split("\n")).rstrip("\n") + "\n"


def _print_arms(console: Console, report: Report) -> None:
    for arm in report.arms:
        if arm.categories:
            console.print(_arm_table(arm))
    console.print(sentences.NO_PAIR)


def _latency_table(report: Report) -> Table:
    table = Table("arm", title=f"Latency ({sentences.timing_mode(report.arms)} iterations)", title_justify="left")
    for heading in ("median", "MAD", "p5", "p95", "iterations"):
        table.add_column(heading, justify="right")
    for arm in report.arms:
        latency = arm.latency
        if latency is None:
            table.add_row(arm.label, sentences.missing_latency(arm, report))
            continue
        times = (latency.median_ms, latency.mad_ms, latency.p5_ms, latency.p95_ms)
        table.add_row(arm.label, *(format_ms(t) for t in times), f"{latency.samples} in {latency.blocks} blocks")
    return table


def _arm_table(arm: ArmReport) -> Table:
    table = Table("category", title=f"Where the time of {arm.label} goes (traced, per inference)", title_justify="left")
    for heading in ("time", "share"):
        table.add_column(heading, justify="right")
    for row in arm.categories:
        table.add_row(row.name, format_ms(row.mean_ms), format_percent(row.share))
    return table


def _category_table(comparison: Comparison) -> Table:
    table = Table("category", title="Where the time goes (traced, per inference)", title_justify="left")
    for heading in (comparison.baseline, "share", comparison.candidate, "share", "speed-up"):
        table.add_column(heading, justify="right")
    for row in comparison.categories:
        table.add_row(
            row.name,
            format_ms(row.baseline_ms),
            format_percent(row.baseline_share),
            format_ms(row.candidate_ms),
            format_percent(row.candidate_share),
            format_ratio(row.speedup) if row.speedup is not None else "n/a",
        )
    before = sum(row.baseline_ms for row in comparison.categories)
    after = sum(row.candidate_ms for row in comparison.categories)
    table.add_section()
    table.add_row(
        "end to end", format_ms(before), "", format_ms(after), "", format_ratio(before / after) if after else "n/a"
    )
    return table
