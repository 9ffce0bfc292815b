"""Runs as objects: read from a folder, compared, as tables, and in a notebook."""

from pathlib import Path

import pytest

import etprof
from etprof.api.runs import ReportView
from etprof.api.tables import Table
from etprof.core.errors import StoreError, UnknownNameError, UsageError
from etprof.core.estimates import Verdict
from etprof.core.findings import FindingKind
from etprof.core.report import Report
from etprof.reports import html_summary
from report_builder import CONVOLUTION, HOSTILE, a_report, emulated, hostile, with_graph, with_kernels
from scripted_device import a_runnable_plan, run_scripted, scripted_device


def test_a_run_is_read_from_its_folder(run_folder: Path) -> None:
    run = etprof.load_run(str(run_folder))
    assert run.folder == run_folder
    assert isinstance(run.report, Report)
    assert run.findings == run.report.findings
    assert run.next_steps == run.report.next_steps
    assert repr(run).startswith(f"<Run {run_folder}: on against off (1 thread): faster, speed-up 2.00x (95 % interval")
    assert "\n" not in repr(run)


def test_a_runs_verdict_is_a_row_with_its_interval(run_folder: Path) -> None:
    (row,) = etprof.load_run(run_folder).verdicts()
    assert (row["baseline"], row["candidate"], row["verdict"]) == ("off", "on", Verdict.FASTER.value)
    assert row["speedup"] == pytest.approx(2.0, rel=0.01)
    assert float(row["low"] or 0) <= float(row["speedup"] or 0) <= float(row["high"] or 0)


def test_a_runs_tables_name_the_variant_in_every_row(run_folder: Path) -> None:
    run = etprof.load_run(run_folder)
    for table in (run.latencies(), run.categories(), run.operators()):
        assert {(row["experiment"], row["threads"]) for row in table} == {("off", 1), ("on", 1)}
    medians = {row["experiment"]: row["median_ms"] for row in run.latencies()}
    assert medians == {"off": pytest.approx(4.0, rel=0.01), "on": pytest.approx(2.0, rel=0.01)}
    slowest = run.operators()[0]
    assert (slowest["name"], slowest["category"], slowest["delegated"]) == (CONVOLUTION, "Convolution", True)
    for experiment in ("off", "on"):
        shares = [float(row["share"] or 0) for row in run.categories() if row["experiment"] == experiment]
        assert sum(shares) == pytest.approx(1.0)


def test_a_runs_tables_become_data_frames(run_folder: Path) -> None:
    run = etprof.load_run(run_folder)
    for table in (run.verdicts(), run.latencies(), run.categories(), run.operators(), run.kernels()):
        assert table.to_polars().columns == list(table.columns)
        assert table.to_pandas().shape == (len(table), len(table.columns))
    frame = run.operators().to_pandas()
    assert frame.groupby("experiment")["mean_ms"].sum()["on"] == pytest.approx(1.8)


def test_a_runs_operators_are_grouped_by_kind_module_and_shape(tmp_path: Path) -> None:
    view = ReportView(with_graph(tmp_path))
    kinds = [row for row in view.rollup("kind") if row["experiment"] == "on"]
    assert (kinds[0]["name"], kinds[0]["operators"], kinds[0]["macs"]) == ("3x3 convolution", 1, 452_984_832)
    assert float(kinds[0]["gmac_per_s"] or 0) == pytest.approx(602, rel=0.01)
    assert {row["name"] for row in view.rollup("module", depth=1)} == {"stem", "head", "up", "no module"}
    assert len(view.rollup("shape")) > len(view.rollup())
    with pytest.raises(UnknownNameError, match="layer"):
        view.rollup("layer")


def test_kernels_are_listed_where_they_were_sampled(tmp_path: Path, run_folder: Path) -> None:
    assert len(etprof.load_run(run_folder).kernels()) == 0
    kernels = ReportView(with_kernels(a_report(tmp_path))).kernels()
    assert [(row["experiment"], row["instruction_class"], row["samples"]) for row in kernels] == [
        ("off", "NEON", 90),
        ("on", "SME", 40),
    ]
    assert kernels[1]["extension_share"] == 1.0


def test_two_runs_are_compared_by_object_or_by_folder(tmp_path: Path, run_folder: Path) -> None:
    slow = run_scripted(a_runnable_plan(tmp_path), scripted_device(lambda _: 8.0)).session.plan.output_root
    comparison = etprof.compare(run_folder, etprof.load_run(slow))
    off, on = comparison.verdicts()
    assert [str(row["candidate"]).partition(": ")[2] for row in (off, on)] == ["off", "on"]
    assert [row["verdict"] for row in (off, on)] == ["slower", "slower"]
    assert [off["speedup"], on["speedup"]] == pytest.approx([0.5, 0.25])
    assert FindingKind.NOT_INTERLEAVED in {finding.kind for finding in comparison.findings}
    assert len(comparison.latencies()) == 4
    assert repr(comparison).startswith(f"<RunComparison {slow} against {run_folder}: ")


def test_a_run_is_not_compared_with_itself(run_folder: Path) -> None:
    with pytest.raises(UsageError, match="given twice"):
        etprof.compare(etprof.load_run(run_folder), run_folder)


def test_a_folder_without_a_run_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        etprof.load_run(tmp_path)
    assert isinstance(caught.value, etprof.EtprofError)
    assert "manifest.json" in caught.value.hint
    assert caught.value.__notes__ == [f"Hint: {caught.value.hint}"], "a traceback shows it too"


def test_a_notebook_shows_the_summary_of_the_report(run_folder: Path) -> None:
    run = etprof.load_run(run_folder)
    assert run._repr_html_() == html_summary.render(run.report)


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("verdicts", "baseline candidate verdict speedup low high confidence noise_floor p_value reason"),
        (
            "latencies",
            "experiment threads blocks samples median_ms mad_ms mean_ms min_ms max_ms p95_ms cold_ms load_ms",
        ),
        ("categories", "experiment threads name mean_ms share events_per_run"),
        (
            "operators",
            "experiment threads identity name module_path category subcategory delegated kernels count mean_ms "
            "median_ms share kind input_shape weight_shape output_shape macs minimal_bytes gmac_per_s",
        ),
        ("rollup", "experiment threads by name operators mean_ms share macs gmac_per_s"),
        (
            "kernels",
            "experiment threads identity operator category data_type delegated selected_type kernel instruction_class "
            "samples operator_samples waiting_samples extension extension_executed extension_share extension_share_low "
            "extension_share_high instructions reason",
        ),
    ],
)
def test_a_column_that_was_published_stays(table: str, columns: str, run_folder: Path) -> None:
    published: Table = getattr(etprof.load_run(run_folder), table)()
    assert set(columns.split()) <= set(published.columns)


def test_a_run_is_described_on_one_line_whatever_its_names(tmp_path: Path) -> None:
    report = hostile(tmp_path)
    described = ReportView(report)._describe(HOSTILE + "\n")
    assert described.isprintable()


def test_an_emulated_run_shows_no_time(tmp_path: Path) -> None:
    view = ReportView(with_kernels(emulated(tmp_path)))
    assert not len(view.latencies()) + len(view.categories()) + len(view.operators())
    assert len(view.kernels()) == 2
    (row,) = view.verdicts()
    assert row["speedup"] is row["low"] is row["noise_floor"] is None
