"""A run becomes files: which formats, where they go, and what the manifest says of them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info
from csv_rows import read_rows
from etprof.analysis.report import RunAnalysis
from etprof.app.reporting import (
    FILE_FORMATS,
    analyze,
    analyze_measured,
    check_model,
    choose_files,
    combine_runs,
    write_format,
    write_report,
)
from etprof.app.runs import load_run, validate_run
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.plan import TRACE, Plan
from etprof.devices.local import LocalDevice
from etprof.reports import FORMATS
from etprof.store.session_file import load_session
from scripted_device import a_runnable_plan, copy_run, run_scripted, scripted_device

FILES = tuple(FORMATS[name].file for name in FILE_FORMATS)
OF_A_VARIANT = (
    "all_runs_timeline.csv", "run0_timeline.csv", "ops_stats.csv", "category_summary.csv", "robust_stats.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    plan = a_runnable_plan(tmp_path_factory.mktemp("measured"), blocks=3)
    run_scripted(plan)
    return plan


@pytest.fixture
def plan(measured: Plan, tmp_path: Path) -> Plan:
    """The plan of a run of three rounds that is in its folder."""
    return copy_run(measured, tmp_path)


@pytest.fixture
def analysis(plan: Plan) -> RunAnalysis:
    return analyze(plan.output_root)


def test_a_run_that_was_just_measured_and_its_files_give_the_same_report(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    fresh = analyze_measured(run_scripted(plan)).report
    stored = analyze(plan.output_root).report
    assert replace(fresh, created_at="") == replace(stored, created_at="")
    assert fresh.title == "model: where the time goes"
    assert analyze(plan.output_root, title="Mine").report.title == "Mine"


def test_everything_is_written_beside_the_run_and_noted_in_its_manifest(analysis: RunAnalysis) -> None:
    folder = analysis.run.folder
    assert load_session(folder).reports == ()
    written = {path.relative_to(folder).as_posix() for path in write_report(analysis)}
    tables = {f"{name}/{name}_t1_{table}" for name in ("off", "on") for table in OF_A_VARIANT}
    assert written == {*FILES, *tables, "model_pipeline_summary.json", "model_pipeline_summary.md"}
    assert all((folder / name).stat().st_size for name in written)
    assert load_session(folder).reports == FILES
    assert validate_run(folder, deep=True) == []


def test_the_tables_of_a_variant_agree_with_its_report(analysis: RunAnalysis) -> None:
    write_report(analysis)
    folder = analysis.run.folder
    for variant in analysis.report.variants:
        assert variant.latency is not None
        stem = folder / variant.experiment / variant.variant.stem
        statistics = json.loads(Path(f"{stem}_robust_stats.json").read_text())
        assert statistics["median_ms"] == variant.latency.median_ms
        assert [len(block) for block in statistics["samples_by_block"]] == [5, 5, 5]
        names = [row["name"] for row in read_rows(Path(f"{stem}_ops_stats.csv"))]
        assert names == [row.name for row in variant.operators]
        shares = [float(row["share"]) for row in read_rows(Path(f"{stem}_category_summary.csv"))]
        assert sum(shares) == pytest.approx(1.0)
        assert {row["model_id"] for row in read_rows(Path(f"{stem}_all_runs_timeline.csv"))} == {"model"}


def test_only_the_formats_asked_for_are_written_and_noted_once(analysis: RunAnalysis) -> None:
    folder = analysis.run.folder
    assert write_report(analysis, formats=("csv",)) == [folder / "report.csv"]
    again = analyze(folder)
    write_report(again, formats=("csv", "json"))
    assert load_session(folder).reports == ("report.csv", "analysis_summary.json")
    assert not (folder / "report.html").exists()
    statistics = write_report(again, formats=("statistics",))
    assert [path.name for path in statistics] == ["off_t1_robust_stats.json", "on_t1_robust_stats.json"]
    assert not list(folder.glob("*/*_timeline.csv"))


def test_a_report_elsewhere_is_not_one_of_the_runs_own(analysis: RunAnalysis, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    written = write_report(analysis, other)
    assert written == [other / name for name in FILES]
    assert write_report(analysis, tmp_path / "page.md") == [tmp_path / "page.md"]
    assert load_session(analysis.run.folder).reports == ()


def test_charts_lie_beside_the_markdown_that_shows_them(analysis: RunAnalysis, tmp_path: Path) -> None:
    path = write_format(analysis.report, "md", tmp_path / "there" / "page.md")
    text = path.read_text(encoding="utf-8")
    charts = sorted(chart.name for chart in (tmp_path / "there" / "charts").glob("*.svg"))
    assert charts == sorted(part.partition(")")[0] for part in text.split("](charts/")[1:])
    assert len(charts) == 4


def test_kernels_are_a_table_where_they_were_sampled(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run_scripted(replace(plan, experiments=tuple(replace(e, mode=TRACE) for e in plan.experiments)))
    write_report(analyze(plan.output_root), formats=("tables",))
    rows = read_rows(plan.output_root / "on/on_t1_kernels.csv")
    assert [row["instruction_class"] for row in rows if row["kernel"]] == ["AVX-512"]
    assert not (plan.output_root / "on/on_t1_robust_stats.json").exists()


def test_an_emulated_run_gets_no_table_of_times(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    emulated = LocalDevice(scripted_device().command_for, a_device_info(times_are_real=False))
    run_scripted(plan, emulated)
    write_report(analyze(plan.output_root))
    assert not [*plan.output_root.glob("*/*.csv"), *plan.output_root.glob("*/*_robust_stats.json")]
    assert (plan.output_root / "report.md").exists()


def test_the_manifest_of_an_older_run_is_not_touched(analysis: RunAnalysis) -> None:
    folder = analysis.run.folder
    (folder / "metrics.json").unlink()
    manifest = json.dumps({"model": "m.pte", "results": []})
    (folder / "manifest.json").write_text(manifest)
    write_report(analyze(folder), formats=("json",))
    assert (folder / "manifest.json").read_text() == manifest
    assert (folder / "analysis_summary.json").exists()


def test_a_file_is_chosen_by_its_suffix_and_a_folder_takes_all(tmp_path: Path) -> None:
    assert choose_files(tmp_path, ()) == {name: tmp_path / FORMATS[name].file for name in FILE_FORMATS}
    assert choose_files(tmp_path / "new", ("md", "statistics")) == {"md": tmp_path / "new" / "report.md"}
    assert choose_files(tmp_path / "page.HTML", ()) == {"html": tmp_path / "page.HTML"}
    assert choose_files(tmp_path / "x.json", ("trace",)) == {"trace": tmp_path / "x.json"}
    assert choose_files(tmp_path, ("console",)) == {}


@pytest.mark.parametrize(("target", "formats"), [("page.pdf", ()), ("page.md", ("html",)), ("page.md", ("md", "html"))])
def test_a_file_that_cannot_hold_what_is_asked_for_is_refused(
    target: str, formats: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"{target} cannot hold") as caught:
        choose_files(tmp_path / target, formats)
    assert "suffix" in caught.value.hint


def test_an_unknown_format_offers_the_nearest_and_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no report format called 'htm'") as near:
        choose_files(tmp_path, ("htm",))
    assert "'html'" in near.value.hint
    with pytest.raises(UnknownNameError) as far:
        choose_files(tmp_path, ("docx!",))
    assert "md, html, json, csv, trace, model-explorer, statistics, tables, summary" in far.value.hint


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_several_runs_become_one_page(suffix: str, plan: Plan, tmp_path: Path) -> None:
    shutil.copytree(plan.output_root, tmp_path / "runs" / "other")
    target = tmp_path / f"page.{suffix}"
    assert combine_runs([plan.output_root, tmp_path / "runs" / "other"], target, "Both") == target
    text = target.read_text(encoding="utf-8")
    assert "Both" in text
    assert text.index("linux") < text.index("other")


def test_a_page_of_runs_needs_a_suffix_it_knows_and_different_runs(plan: Plan, tmp_path: Path) -> None:
    folder = plan.output_root
    with pytest.raises(UsageError, match=r"page\.pdf cannot be written"):
        combine_runs([folder, tmp_path], tmp_path / "page.pdf")
    with pytest.raises(UsageError, match="given twice"):
        combine_runs([folder, folder / ".." / folder.name], tmp_path / "page.md")


def test_only_the_model_that_was_measured_is_taken_for_it(plan: Plan, tmp_path: Path) -> None:
    run = load_run(plan.output_root)
    check_model(run, plan.model)
    with pytest.raises(UsageError, match="There is no model"):
        check_model(run, tmp_path / "none.pte")
    plan.model.write_bytes(b"another")
    with pytest.raises(UsageError, match="digests differ") as caught:
        check_model(run, plan.model)
    assert "Omit --model" in caught.value.hint
