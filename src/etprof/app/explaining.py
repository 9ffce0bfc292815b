"""Explains a model that was not run, or a run: which kernels its layers take, what keeps them from better ones."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from etprof.analysis.explanations import explain_model
from etprof.analysis.kernels.predictions import predict_kernels
from etprof.analysis.model_advice import find_model_advice
from etprof.app.model_graphs import read_model_graphs
from etprof.app.reporting import analyze_loaded
from etprof.app.runs import load_run
from etprof.core.csv_cells import guard_cell
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.explanation import ExplainedRecord, Explanation, list_explained
from etprof.core.graph import ModelGraph
from etprof.core.layout import MANIFEST
from etprof.core.loaded_run import LoadedRun
from etprof.core.report import NextStep
from etprof.core.roofline import Roofline
from etprof.export.dependencies import installed_version
from etprof.export.meta import load_meta
from etprof.reports import kernel_explanation, roofline_tables
from etprof.reports.text_table import wrap
from etprof.store.json_file import write_text
from etprof.store.kernel_table_file import list_versions, load_kernel_table
from etprof.store.paths import require_file

# 1: the first.
SCHEMA_VERSION = 1
_RUNTIME = "executorch"
_MOST_LOSSES = 8
_HINT = "Give a .pte, or the folder of a run with manifest.json in it."


@dataclass(frozen=True)
class Explained:
    """An explanation for each method of a model; of a run those that it ran, with its next steps and rooflines.

    `rooflines` are by the label of the variant; `no_roofline` says what is missing where a run has none.
    """

    explanations: tuple[Explanation, ...]
    next_steps: tuple[NextStep, ...] = ()
    rooflines: Mapping[str, Roofline] = field(default_factory=dict)
    no_roofline: str = ""

    def render(self, width: int | None, *, all_groups: bool = False) -> str:
        texts = [kernel_explanation.render(each, width, all_groups=all_groups) for each in self.explanations]
        shown = [roofline_tables.render_text(*each, width, _MOST_LOSSES) for each in self.rooflines.items()]
        missing = [f"{wrap(self.no_roofline, width)}\n"] if self.no_roofline else []
        return "\n".join([*texts, *shown, *missing])

    def list_advice(self, rule: str = "") -> list[str]:
        """What the rules of advice found, the largest part first; only that of one rule where it is named."""
        own = [kernel_explanation.next_step_text(step) for step in self.next_steps if rule in ("", step.rule)]
        steps = [step for each in self.explanations for step in each.steps if rule in ("", step.rule)]
        return [*own, *map(kernel_explanation.model_step_text, steps)]

    def render_json(self) -> str:
        content = TypeAdapter(Explained).dump_json(self, indent=2).decode()
        return f'{{\n  "schema_version": {SCHEMA_VERSION},{content[1:]}\n'

    def render_csv(self) -> str:
        """A row for each node and each operator outside of the delegate."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(ExplainedRecord._fields)
        writer.writerows([guard_cell(cell) for cell in record] for record in self.list_records())
        return text.getvalue()

    def list_records(self) -> Iterator[ExplainedRecord]:
        for each in self.explanations:
            yield from list_explained(each)


_BY_SUFFIX = {".json": Explained.render_json, ".csv": Explained.render_csv}


def explain_target(target: Path, method: str = "") -> Explained:
    """`target` is a .pte or the folder of a run."""
    if target.is_dir():
        if not (target / MANIFEST).is_file():
            raise UsageError(f"{target} is not the folder of a run.", hint=_HINT)
        return explain_run(load_run(target), method)
    return explain_program(require_file(target, "model or run", hint=_HINT), method)


def explain_program(model: Path, method: str = "") -> Explained:
    graphs = read_model_graphs(model)
    if method and method not in graphs:
        raise UnknownNameError(f"method of {model.name}", method, graphs, hint=f"It has {', '.join(graphs)}.")
    return Explained(tuple(_explain(model, name, graphs[name]) for name in graphs if method in ("", name)))


def explain_run(run: LoadedRun, method: str = "") -> Explained:
    analysis = analyze_loaded(run)
    report = analysis.report
    if report.explanation is None:
        raise UsageError(
            f"{run.folder}: the graph of {report.model} is not known: neither the model that ran nor its graph.json is "
            "where it was.",
            hint="Explain the model itself: etprof explain MODEL.pte",
        )
    explanations = tuple(each for each in (report.explanation, *analysis.explained[1:]) if method in ("", each.method))
    if not explanations:
        ran = ", ".join(dict.fromkeys(each.method for each in analysis.explained))
        raise UsageError(f"{run.folder} ran {ran}, not {method}.", hint="Omit --method.")
    rooflines = dict(roofline_tables.list_shown(report))
    return Explained(explanations, report.next_steps, rooflines, roofline_tables.missing_sentence(report))


def write_explanation(explained: Explained, target: Path) -> None:
    """As text, or what the suffix says: .json or .csv."""
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}.", hint="Make it first, or name another --out.")
    render = _BY_SUFFIX.get(target.suffix)
    write_text(target, render(explained) if render else explained.render(None, all_groups=True))


def _explain(model: Path, method: str, graph: ModelGraph) -> Explanation:
    meta = load_meta(model)
    table = load_kernel_table(_find_version(meta.versions if meta else {}))
    predictions = predict_kernels(graph, table)
    explained = explain_model(predictions, table, model=model.name, method=method, meta=meta)
    return replace(explained, steps=find_model_advice(graph, predictions, meta))


def _find_version(versions: Mapping[str, str | None]) -> str:
    """The ExecuTorch that exported the model; else the one that is installed; else the newest that was probed."""
    return versions.get(_RUNTIME) or installed_version(_RUNTIME) or max(list_versions(), default="")
