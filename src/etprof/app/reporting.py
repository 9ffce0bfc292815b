"""A run becomes a report, and a report becomes files: here and nowhere else."""

import getpass
import platform
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from etprof.analysis.llm_results import build_llm_results
from etprof.analysis.operators.rollups import compare_rollups, roll_up
from etprof.analysis.report import RunAnalysis, analyze_run
from etprof.analysis.timing.latency import list_samples
from etprof.app.planned_programs import digest_model
from etprof.app.runs import MeasuredRun, build_run, load_run
from etprof.app.trace_tables import write_statistics, write_timelines
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.layout import (
    CHART_FOLDER,
    KERNELS_SUFFIX,
    MODEL_EXPLORER_FOLDER,
    ROBUST_STATS_SUFFIX,
    label_folders,
    llm_name,
    pipeline_summary_name,
    variant_file,
)
from etprof.core.llm import LlmResults
from etprof.core.loaded_run import LoadedRun
from etprof.core.redaction import redact_report
from etprof.core.report import Report, VariantReport
from etprof.core.run import Session
from etprof.reports import FORMATS, llm_tables, pipeline_summary
from etprof.store.json_file import write_bytes, write_json, write_text
from etprof.store.kernel_files import save_kernels
from etprof.store.kernel_table_file import load_kernel_table
from etprof.store.paths import check_inside
from etprof.store.run_lock import hold_run_folder
from etprof.store.session_file import save_reports

if TYPE_CHECKING:
    from etprof.reports.combined import CombinedReport

# What is written where no format is named.
FILE_FORMATS = tuple(name for name, each in FORMATS.items() if each.file and not each.on_request)
# Beside the formats: what a run leaves for each variant, and the short summary of the whole.
STATISTICS, TABLES, SUMMARY = "statistics", "tables", "summary"
FILE_SETS = (STATISTICS, TABLES, SUMMARY)


def analyze(folder: Path, *, title: str = "") -> RunAnalysis:
    """The analysis of a finished or interrupted run, from its files alone."""
    return analyze_loaded(load_run(folder), title=title)


def analyze_measured(measured: MeasuredRun) -> RunAnalysis:
    """The same for a run that was just measured: its traces were read meanwhile."""
    folder = measured.session.plan.output_root
    return analyze_loaded(build_run(folder, measured.session, measured.traces))


def analyze_loaded(run: LoadedRun, *, title: str = "") -> RunAnalysis:
    title = title or _choose_title(run.session)
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    versions = {result.executorch_version for loaded in run.variants for result in loaded.results}
    tables = {version: load_kernel_table(version) for version in versions}
    return analyze_run(run, title=title, created_at=created_at, tables=tables)


def list_names_here() -> tuple[str, ...]:
    """Of this machine and its user: what a report that is sent does not tell."""
    return platform.node(), platform.node().partition(".")[0], getpass.getuser(), Path.home().name


def _choose_title(session: Session) -> str:
    meta = session.programs[0].export_meta
    if session.exploration and meta:
        return f"{meta.model}: which build to ship"
    stems = [Path(name).stem for name in session.model_names]
    return f"{' and '.join(stems) if len(stems) < 3 else f'{len(stems)} models'}: where the time goes"


def redact(analysis: RunAnalysis) -> RunAnalysis:
    """The same analysis, whose report does not tell who made it and where; the run itself is as it was."""
    report = analysis.report
    for session in analysis.run.sessions:
        report = redact_report(report, session, *list_names_here())
    return replace(analysis, report=report)


def roll_up_report(report: Report, by: str, depth: int) -> Report:
    """The report with its operators grouped as asked for: by kind, by shape, or by modules of this depth."""
    variants = tuple(
        replace(each, rollups={by: roll_up(each.operators, by, depth)} if each.operators else {})
        for each in report.variants
    )
    groups = {each.variant: each.rollups for each in variants}
    comparisons = tuple(
        # What was not comparable before is not in other groups either.
        replace(each, rollups=compare_rollups(groups[each.baseline], groups[each.candidate]) if each.rollups else {})
        for each in report.comparisons
    )
    return replace(report, variants=variants, comparisons=comparisons)


def write_report(analysis: RunAnalysis, target: Path | None = None, formats: Sequence[str] = ()) -> list[Path]:
    """Writes the formats asked for, or everything, to a folder or to the one file that `target` is.

    What lies in the run's own folder afterwards is noted in its manifest.
    """
    folder = analysis.run.folder
    paths = choose_files(target or folder, formats)
    with reserve(folder, target, formats):
        _refuse_links(analysis, paths.values())
        written = [write_format(analysis.report, name, path) for name, path in paths.items()]
        written += [path for name in _choose_sets(target, formats) for path in _write_set(analysis, name)]
        if (target or folder).resolve() == folder.resolve():
            session = analysis.run.newest
            names = dict.fromkeys([*session.reports, *(path.name for path in paths.values())])
            save_reports(folder, session, tuple(names))
    return written


def reserve(folder: Path, target: Path | None, formats: Sequence[str]) -> AbstractContextManager[None]:
    """Keeps others from writing to a run's folder, where its report is going to be written there.

    Who enters this before reading the run knows that the report is of what lies there.
    """
    beside = [path.parent.resolve() for path in choose_files(target or folder, formats).values()]
    is_inside = folder.resolve() in beside or _choose_sets(target, formats)
    return hold_run_folder(folder) if is_inside else nullcontext()


def _choose_sets(target: Path | None, formats: Sequence[str]) -> Sequence[str]:
    if formats:
        return [name for name in formats if name in FILE_SETS]
    return FILE_SETS if target is None else ()


def _refuse_links(analysis: RunAnalysis, reports: Iterable[Path]) -> None:
    """Nothing is written where a link in a run's folder, or beside a report, leads elsewhere."""
    for path in reports:
        for beside in (CHART_FOLDER, MODEL_EXPLORER_FOLDER):
            check_inside(path.parent / beside / path.name, path.parent)
    for variant in analysis.report.variants:
        check_inside(analysis.run.folder / variant_file(variant.variant, ""), analysis.run.folder)


def write_format(report: Report, name: str, path: Path) -> Path:
    for beside, content in FORMATS[name].render_files(report).items():
        write_bytes(path.parent / beside, content)
    write_bytes(path, FORMATS[name].render(report).encode("utf-8"))
    return path


def write_page(report: Report, path: Path, *, with_charts: bool) -> Path:
    """A report as one Markdown file; only `with_charts` does anything lie beside it."""
    from etprof.reports import markdown

    if with_charts:
        return write_format(report, "md", path)
    write_text(path, markdown.render(report, with_charts=False))
    return path


def choose_files(target: Path, formats: Sequence[str]) -> dict[str, Path]:
    """The file of each format, before any work is done: `target` is a folder, or the one file that is wanted."""
    for name in formats:
        if name not in FORMATS and name not in FILE_SETS:
            known = [*FORMATS, *FILE_SETS]
            raise UnknownNameError("report format", name, known, hint=f"Known formats: {', '.join(known)}.")
    files = {name: FORMATS[name].file for name in formats or FILE_FORMATS if name in FORMATS and FORMATS[name].file}
    suffix = target.suffix.lower()
    if target.is_dir() or not suffix:
        return {name: target / file for name, file in files.items()}
    fitting = [name for name, file in files.items() if Path(file).suffix == suffix]
    if not fitting or (formats and len(files) > 1):
        raise UsageError(
            f"{target} cannot hold {', '.join(formats) or 'a report'}.",
            hint="A file holds one format, chosen by its suffix: .md, .html, .json or .csv. Or give a folder.",
        )
    return {fitting[0]: target}


def combine_runs(folders: Sequence[Path], target: Path, title: str = "", *, redacted: bool = False) -> Path:
    """Puts the reports of several runs on one page; the suffix of `target` chooses the format."""
    from etprof.reports.combined import PAGES

    render = PAGES.get(target.suffix.lower())
    if render is None:
        raise UsageError(f"{target} cannot be written.", hint=f"Its suffix chooses the format: {', '.join(PAGES)}.")
    write_text(target, render(build_combined(folders, title, redacted=redacted)))
    return target


def build_combined(folders: Sequence[Path], title: str = "", *, redacted: bool = False) -> "CombinedReport":
    from etprof.reports.combined import CombinedReport

    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("A run was given twice.", hint="Name each folder once.")
    # One after the other: of each only its report is kept.
    found = [(redact(analyze(folder)) if redacted else analyze(folder)).report for folder in folders]
    labels = [f"run {number}" for number in range(1, len(folders) + 1)] if redacted else label_folders(folders)
    return CombinedReport(title or f"{len(found)} runs side by side", tuple(zip(labels, found, strict=True)))


def check_model(run: LoadedRun, model: Path) -> None:
    """Refuses a model that is not the one the run measured."""
    if not model.is_file():
        raise UsageError(f"There is no model {model}.")
    measured = {each.model_sha256 for each in run.session.programs if each.model_sha256}
    if measured and digest_model(model) not in measured:
        raise UsageError(
            f"{model} is not the model that {run.folder} measured: the digests differ.",
            hint="Omit --model, or run the plan again with this model.",
        )


def _write_set(analysis: RunAnalysis, name: str) -> list[Path]:
    if name == SUMMARY:
        return _write_summary(analysis)
    write = _write_statistics if name == STATISTICS else _write_tables
    return [path for variant in analysis.report.variants for path in write(analysis, variant)]


def _write_statistics(analysis: RunAnalysis, variant: VariantReport) -> list[Path]:
    """Robust statistics with every sample they were made from."""
    if variant.latency is None:
        return []
    results = analysis.run.of(variant.variant).results
    statistics = {"schema_version": 1, **asdict(variant.latency), "samples_by_block": list_samples(results)}
    path = analysis.run.folder / variant_file(variant.variant, ROBUST_STATS_SUFFIX)
    write_json(path, statistics)
    return [path]


def _write_tables(analysis: RunAnalysis, variant: VariantReport) -> list[Path]:
    """Timelines, operators and categories of the traces, and the kernels where they were sampled."""
    folder, of = analysis.run.folder, variant.variant
    loaded, own = analysis.run.of(of), analysis.variants[of]
    written: list[Path] = []
    if loaded.traces and analysis.run.times_are_real:
        place = folder / of.experiment
        written += write_timelines(place, of.stem, loaded.traces, model_id=loaded.model.stem)
        written += write_statistics(place, of.stem, own.details, variant.categories, own.nodes or {})
    if variant.evidence:
        written.append(folder / variant_file(of, KERNELS_SUFFIX))
        save_kernels(written[-1], [variant.evidence])
    return written


def _write_summary(analysis: RunAnalysis) -> list[Path]:
    folder, session = analysis.run.folder, analysis.run.session
    texts = {
        "json": pipeline_summary.render_json(analysis.report, session.stop_reason),
        "md": pipeline_summary.render_markdown(analysis.report, session.stop_reason),
    }
    paths = {suffix: folder / pipeline_summary_name(session.plan.model.stem, suffix) for suffix in texts}
    for suffix, path in paths.items():
        write_text(path, texts[suffix])
    return [*paths.values(), *_write_llm(analysis)]


def describe_llm(analysis: RunAnalysis) -> LlmResults | None:
    """The tests of a language model; None where the run is about something else."""
    run = analysis.run
    return build_llm_results(analysis.report, run.session.programs, times_are_real=run.times_are_real)


def _write_llm(analysis: RunAnalysis) -> list[Path]:
    results = describe_llm(analysis)
    if results is None:
        return []
    paths = {suffix: analysis.run.folder / llm_name(suffix) for suffix in llm_tables.RENDERERS}
    for suffix, path in paths.items():
        write_text(path, llm_tables.RENDERERS[suffix](results))
    return list(paths.values())
