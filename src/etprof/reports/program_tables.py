"""Several programs in one report: what each variant ran, its latency, and its distance to the eager model beside it."""

from collections.abc import Iterator
from typing import NamedTuple

from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.runtimes import RUNTIMES
from etprof.core.units import format_bytes, format_count, format_percent
from etprof.reports import sentences
from etprof.reports.text_table import Column, TextTable

_HEADINGS = ("variant", "model", "runtime", "precision", "median", "SNR", "file")
_NUMBERS = ("median", "SNR", "file")
# What a narrow terminal leaves out is in the names of the files as a rule.
_IMPORTANCE = {"runtime": 3, "precision": 1, "file": 2}
EXPLAINED = "SNR is that of the outputs against the eager fp32 model with the inputs of the export, the worst output's."


class ProgramTable(NamedTuple):
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def build_table(report: Report) -> ProgramTable:
    """A row for each variant that was to be timed."""
    rows = (
        (
            variant.label,
            program.model,
            RUNTIMES[program.runtime].title,
            program.precision or "unknown",
            sentences.median_text(variant, report),
            accuracy_text(variant),
            "unknown" if program.file_bytes is None else format_bytes(program.file_bytes),
        )
        for variant in report.measured
        if (program := variant.program)
    )
    return ProgramTable("Models, their latency and their accuracy", _HEADINGS, tuple(rows))


def as_text_table(table: ProgramTable) -> TextTable:
    columns = zip(table.headings, zip(*table.rows, strict=True), strict=True)
    return TextTable(
        table.title,
        [Column(heading, cells, _IMPORTANCE.get(heading, 0), right=heading in _NUMBERS) for heading, cells in columns],
    )


def accuracy_text(variant: VariantReport) -> str:
    program = variant.program
    if program is None or (program.snr_db is None and not program.exact):
        return "unknown"
    return "exact" if program.snr_db is None else f"{program.snr_db:.1f} dB"


def list_sentences(report: Report) -> Iterator[str]:
    """What a reader of verdicts on several programs has to know."""
    if correction := correction_sentence(report):
        yield correction
    for comparison in report.comparisons:
        if said := accuracy_sentence(comparison, report):
            yield said


def correction_sentence(report: Report) -> str:
    """How sure all verdicts are together; empty where each stands alone."""
    several = [comparison for comparison in report.comparisons if comparison.family > 1]
    if not several:
        return ""
    return (
        f"Verdicts and intervals of {format_count(several[0].family, 'comparison')} hold together with "
        f"{format_percent(several[0].family_confidence, 0)} confidence (Holm's correction)."
    )


def accuracy_sentence(comparison: Comparison, report: Report) -> str:
    """The accuracy of both sides, beside the verdict on their time; empty where they ran the same program."""
    if comparison.same_program:
        return ""
    before, after = (accuracy_text(report.of(side)) for side in comparison.sides)
    names = comparison.names
    return f"SNR against the eager model: {names[0]} {before}, {names[1]} {after}."
