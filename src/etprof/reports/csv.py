"""The report as one CSV table: a row for each inference, category, operator and group of operators of each variant.

Runs at several thread counts have a row for each of those too, and runs of a workload for each phase.
"""

import csv
import io
from collections.abc import Iterator

from etprof.core.csv_cells import guard_cell
from etprof.core.memory_records import list_memory
from etprof.core.phase_records import list_phase_categories, list_phase_operators, list_phases
from etprof.core.phases import Phases
from etprof.core.records import list_categories, list_latencies, list_operators, list_rollups, list_scaling
from etprof.core.report import Report, VariantReport
from etprof.reports import sentences

COLUMNS = (
    "experiment",
    "threads",
    "level",
    "name",
    "identity",
    "category",
    "subcategory",
    "delegated",
    "module_path",
    "kernels",
    "count",
    "mean_ms",
    "median_ms",
    "share",
    "kind",
    "input_shape",
    "weight_shape",
    "output_shape",
    "macs",
    "minimal_bytes",
    "gmac_per_s",
    "speedup",
    "speedup_low",
    "speedup_high",
    "efficiency",
    "model",
    "precision",
    "snr_db",
    "bytes",
    "model_file",
)


def render(report: Report) -> str:
    """Level `latency` is the untraced inference; those of `category`, and of `operator` with overheads, are traced.

    `by kind`, `by module` and `by shape` are the operators again, in groups: `count` operators in each. `threads` is
    one of several thread counts, against the fewest; its name is what the step to it does. `phase` is a phase of a
    workload, with its steps as `count`, and their median; what takes part in it has the name of the phase in its level.
    `memory` is a part of the peak, `stage` resident memory at the end of a stage, `start` how long that took.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for variant in report.variants:
        for row in _rows(variant, report):
            writer.writerow({column: _cell(value) for column, value in row.items()})
    for point in list_scaling(report.scaling) if report.scaling else ():
        writer.writerow({**point._asdict(), "level": "threads", "name": point.step, "mean_ms": point.latency_ms})
    for row in _phase_rows(report.phases) if report.phases else ():
        writer.writerow({column: _cell(value) for column, value in row.items()})
    return text.getvalue()


def _phase_rows(phases: Phases) -> Iterator[dict[str, object]]:
    for phase in list_phases(phases):
        times = {"count": phase.steps, "median_ms": phase.step_ms}
        yield {**phase._asdict(), **times, "level": "phase", "name": phase.phase, "kernels": ""}
    for category in list_phase_categories(phases):
        yield {**category._asdict(), "level": f"category of {category.phase}", "category": category.name}
    for operator in list_phase_operators(phases):
        yield {**operator._asdict(), "level": f"operator of {operator.phase}"}


def _rows(variant: VariantReport, report: Report) -> Iterator[dict[str, object]]:
    if variant.latency is None:
        missing = sentences.missing_latency(variant, report)
        yield {"experiment": variant.experiment, "threads": variant.threads, "level": "missing", "name": missing}
    for latency in list_latencies(variant):
        yield {**latency._asdict(), "level": "latency", "name": "inference", "count": latency.samples}
    for category in list_categories(variant):
        yield {**category._asdict(), "level": "category", "category": category.name}
    for operator in list_operators(variant):
        yield {**operator._asdict(), "level": "operator"}
    for memory in list_memory(variant):
        yield {**memory._asdict(), "mean_ms": memory.duration_ms}
    for rollup in list_rollups(variant):
        yield {**rollup._asdict(), "level": f"by {rollup.by}", "count": rollup.operators}


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return guard_cell(value)
