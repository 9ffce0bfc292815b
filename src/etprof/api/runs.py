"""Runs as objects: a report that shows itself in a notebook and gives its numbers as tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from etprof.analysis.operators.rollups import DEFAULT_DEPTH, roll_up
from etprof.analysis.report import RunAnalysis
from etprof.api import StrPath
from etprof.api.tables import Cell, Table, build_table
from etprof.app.gate import compare_analyzed
from etprof.app.reporting import analyze, describe_llm, redact, write_report
from etprof.core import kernel_records, memory_records, phase_records, records
from etprof.core.findings import Finding
from etprof.core.llm import LlmRecord
from etprof.core.report import NextStep, Report, VariantReport
from etprof.reports import choice_tables, html_summary, sentences
from etprof.reports.plain_text import printable


class ReportView:
    """What a run and a comparison of two runs have in common: a report, and its numbers as tables."""

    def __init__(self, report: Report) -> None:
        self.report = report

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Reasons to doubt the numbers."""
        return self.report.findings

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        """What the rules of advice found, the largest saving first."""
        return self.report.next_steps

    def verdicts(self) -> Table:
        """A row for each comparison: the verdict, and the speed-up with its interval."""
        return build_table(records.VerdictRecord._fields, map(records.describe_verdict, self.report.comparisons))

    def latencies(self) -> Table:
        """A row for each timed variant."""
        return self._table(records.LatencyRecord._fields, records.list_latencies)

    def categories(self) -> Table:
        """A row for each category of each variant; those of a variant add up to its end-to-end time."""
        return self._table(records.CategoryRecord._fields, records.list_categories)

    def operators(self) -> Table:
        """A row for each operator of each variant, the slowest first."""
        return self._table(records.OperatorRecord._fields, records.list_operators)

    def rollup(self, by: str = "kind", *, depth: int = DEFAULT_DEPTH) -> Table:
        """A row for each group of operators of each variant: `by` kind of layer, module or shape.

        `depth` is for modules: how many names of their path count, so that 2 makes `stages.0` a group.
        """
        return build_table(
            records.RollupRecord._fields,
            (
                records.describe_rollup(variant.variant, by, row)
                for variant in self.report.variants
                for row in roll_up(variant.operators, by, depth)
            ),
        )

    def kernels(self) -> Table:
        """A row for each kernel that was seen executing in an operator; none where kernels were not sampled."""
        return self._table(
            kernel_records.KernelRecord._fields,
            lambda variant: kernel_records.list_kernels(variant.evidence) if variant.evidence else (),
        )

    def roofline(self) -> Table:
        """A row for each operator against what the CPU can do, the largest loss first; none where that is not known."""
        return self._table(records.RooflineRecord._fields, records.list_roofline)

    @property
    def answer(self) -> str:
        """Which build to ship, in one sentence; empty for a run that is not about that."""
        return choice_tables.answer_sentence(self.report.choice) if self.report.choice else ""

    def builds(self) -> Table:
        """A row for each build of `etprof explore` at each thread count; none for any other run."""
        choice = self.report.choice
        return build_table(records.BuildRecord._fields, records.list_builds(choice) if choice else ())

    def layers(self) -> Table:
        """A row for each layer where it alone is quantised, the costliest first; none without --sensitivity."""
        choice = self.report.choice
        return build_table(records.LayerRecord._fields, records.list_layers(choice) if choice else ())

    def memory(self) -> Table:
        """The parts of the peak, the memory at each stage of a start, and how long each stage took."""
        return self._table(memory_records.MemoryRecord._fields, memory_records.list_memory)

    def activations(self) -> Table:
        """What is alive while each operator runs, by the memory plan of each program."""
        rows = (row for plan in self.report.plans for row in memory_records.list_live(plan))
        return build_table(memory_records.LiveRecord._fields, rows)

    def scaling(self) -> Table:
        """A row for each thread count of each experiment that was timed at several; none where there is no such."""
        scaling = self.report.scaling
        return build_table(records.ScalingRecord._fields, records.list_scaling(scaling) if scaling else ())

    def phases(self) -> Table:
        """A row for each phase of a workload in each variant, whole sequences last; none without a workload."""
        phases = self.report.phases
        return build_table(phase_records.PhaseRecord._fields, phase_records.list_phases(phases) if phases else ())

    def steps(self) -> Table:
        """A row for each step of each phase, neighbours together in long ones: does it slow down?"""
        phases = self.report.phases
        return build_table(phase_records.StepRecord._fields, phase_records.list_steps(phases) if phases else ())

    def phase_categories(self) -> Table:
        """A row for each category of each phase in each variant, per step."""
        phases = self.report.phases
        rows = phase_records.list_phase_categories(phases) if phases else ()
        return build_table(phase_records.PhaseCategoryRecord._fields, rows)

    def phase_operators(self) -> Table:
        """A row for each operator of each phase in each variant, per step, the slowest first."""
        phases = self.report.phases
        rows = phase_records.list_phase_operators(phases) if phases else ()
        return build_table(phase_records.PhaseOperatorRecord._fields, rows)

    def _table(
        self, columns: tuple[str, ...], list_records: Callable[[VariantReport], Iterable[tuple[Cell, ...]]]
    ) -> Table:
        return build_table(columns, (record for variant in self.report.variants for record in list_records(variant)))

    def _describe(self, name: str) -> str:
        verdicts = [sentences.verdict_sentence(comparison) for comparison in self.report.comparisons]
        return printable(f"<{type(self).__name__} {name}: {' '.join(verdicts) or sentences.NO_PAIR}>")

    def _repr_html_(self) -> str:
        return html_summary.render(self.report)


class Run(ReportView):
    """A finished run: its folder, and the report made from it."""

    def __init__(self, analysis: RunAnalysis) -> None:
        super().__init__(analysis.report)
        self._analysis = analysis

    @property
    def folder(self) -> Path:
        """Where its files are, report.html among them."""
        return self._analysis.run.folder

    def llm_tests(self) -> Table:
        """A row for each test of a language model in each variant; none for any other run."""
        results = describe_llm(self._analysis)
        return build_table(LlmRecord._fields, (row.record for row in results.rows) if results else ())

    def redact(self) -> "Run":
        """The same run, whose report does not name user, host, serial numbers, paths and the command line."""
        return Run(redact(self._analysis))

    def write_report(self, target: StrPath, formats: Sequence[str] = ()) -> list[Path]:
        """Writes the report as `etprof report --out` does: to a folder, or to a file of one format."""
        return write_report(self._analysis, Path(target), formats)

    def __repr__(self) -> str:
        return self._describe(str(self.folder))


class RunComparison(ReportView):
    """Two runs against each other; what keeps them from being a fair pair is among its findings."""

    def __repr__(self) -> str:
        return self._describe(self.report.title)


def load_run(folder: StrPath) -> Run:
    """Reads a finished or interrupted run from its folder; nothing is written."""
    return Run(analyze(Path(folder)))


def compare(
    baseline: Run | StrPath, candidate: Run | StrPath, *, names: Mapping[str, str] | None = None
) -> RunComparison:
    """Compares two runs, each given as a Run or by its folder, variant by variant.

    `names` maps variants of the baseline to those of the candidate that are called otherwise: {"sme2_on": "on"}.
    """
    before, after = (side if isinstance(side, Run) else load_run(side) for side in (baseline, candidate))
    return RunComparison(compare_analyzed(before._analysis, after._analysis, names))
