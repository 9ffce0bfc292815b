"""The report's numbers follow from the session and its traces: change those, and they change."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from builders import a_device_info, a_loaded_run, a_session, paired_results
from delegate_traces import MS, a_qnn_inference
from etprof.analysis.report import analyze_run, build_report
from etprof.core.estimates import Verdict
from etprof.core.findings import FindingKind
from etprof.core.loaded_run import Outputs
from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.core.run import Session
from etprof.core.trace import Trace
from etprof.reports import FORMATS
from graph_builder import a_graph, a_node
from trace_builder import an_inference, read_inferences

CONVOLUTION = "Convolution (NHWC, F32) IGEMM #1"
TRANSPOSE = "Transpose (ND, X32) #1"
RESULTS = paired_results([4.0, 4.01, 3.99, 4.0], [1.5, 1.51, 1.49, 1.5])


def traced(folder: Path, convolution_us: int, transpose_us: int) -> Trace:
    """Three inferences of two operators."""
    call = [(CONVOLUTION, convolution_us), (TRANSPOSE, transpose_us)]
    return read_inferences(folder, *(an_inference(call, start_us=run * 10_000) for run in range(3)))


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return report_of(a_session(results=RESULTS), tmp_path)


def report_of(session: Session, folder: Path | None = None, outputs: Mapping[str, Outputs] | None = None) -> Report:
    """With traces, where there is a folder to write them to."""
    traces = {"off": [traced(folder, 3000, 900)], "on": [traced(folder, 500, 900)]} if folder else {}
    return build_report(a_loaded_run(session, traces, outputs=outputs), title="t", created_at="now")


def test_the_speed_up_is_that_of_the_block_medians(report: Report) -> None:
    (comparison,) = report.comparisons
    assert comparison.speedup is not None
    assert comparison.speedup.value == pytest.approx(4.0 / 1.5, rel=1e-3)
    assert comparison.speedup.low < comparison.speedup.value < comparison.speedup.high
    assert comparison.verdict is Verdict.FASTER


def test_the_bottleneck_before_and_after_is_the_largest_row(report: Report) -> None:
    (comparison,) = report.comparisons
    assert (comparison.bottleneck_before, comparison.bottleneck_after) == ("Convolution", "Data Movement")


def test_category_rows_add_up_to_the_end_to_end_time(report: Report) -> None:
    for variant in report.variants:
        assert variant.accounting is not None
        assert sum(row.total_ns for row in variant.categories) == variant.accounting.end_to_end_ns
        assert sum(row.share for row in variant.categories) == pytest.approx(1.0)
    rows = {row.name: row.mean_ms for row in report.variants[0].categories}
    assert rows["Convolution"] == pytest.approx(3.0)
    assert rows["Data Movement"] == pytest.approx(0.9)
    assert rows["Delegate overhead"] == pytest.approx(0.003)
    assert rows["Framework overhead"] == pytest.approx(0.002)


def test_category_speed_ups_are_those_of_the_traces(report: Report) -> None:
    changes = {change.name: change.speedup for change in report.comparisons[0].categories}
    assert changes["Convolution"] == pytest.approx(6.0)
    assert changes["Data Movement"] == pytest.approx(1.0)


def test_a_variant_without_a_trace_still_has_its_latency() -> None:
    report = report_of(a_session(results=paired_results([4.0] * 4, [2.0] * 4)))
    assert report.variants[0].latency is not None
    assert report.variants[0].categories == ()
    assert report.comparisons[0].bottleneck_before == ""


def test_a_variant_without_a_successful_block_has_no_outputs_that_differ() -> None:
    results = tuple(r for r in paired_results([4.0], [1.5]) if r.experiment == "off")
    report = report_of(a_session(results=results), outputs={"off": (np.ones(2),)})
    assert report.comparisons[0].output_difference is None
    assert FindingKind.OUTPUTS_DIFFER not in {finding.kind for finding in report.findings}


def test_outputs_of_both_variants_are_compared() -> None:
    report = report_of(
        a_session(results=RESULTS), outputs={"off": (np.array([1.0, 2.0]),), "on": (np.array([1, 1.5]),)}
    )
    assert report.comparisons[0].output_difference == 0.25
    assert FindingKind.OUTPUTS_DIFFER in {finding.kind for finding in report.findings}


def test_the_report_of_an_emulated_device_has_no_time_at_all(tmp_path: Path) -> None:
    report = report_of(a_session(results=RESULTS, device=a_device_info(times_are_real=False)), tmp_path)
    assert not report.times_are_real
    assert all(not (v.latency or v.accounting or v.operators or v.categories or v.samples_ms) for v in report.variants)
    assert (report.tracks, report.next_steps) == ((), ())
    (comparison,) = report.comparisons
    assert (comparison.speedup, comparison.verdict) == (None, Verdict.INCONCLUSIVE)
    assert comparison.reason == "emulated times cannot be compared"


def test_the_context_tells_device_model_and_versions() -> None:
    device = a_device_info(sme_vector_bits=512, governor="performance")
    context = report_of(a_session(results=RESULTS, device=device)).context
    assert context["cpu"] == "A CPU (2 cores, x86_64)"
    assert context["SME vector length"] == "512 bits"
    assert context["frequency governor"] == "performance"
    assert (context["model sha256"], context["etprof"]) == ("0" * 64, "0.1.0")


def test_the_analysis_keeps_operators_in_full_and_the_nodes_they_come_from(tmp_path: Path) -> None:
    graph = a_graph((a_node(0, "XNNConv2d", 1, module="stem"), a_node(1, "XNNStaticTranspose", 2)))
    run = a_loaded_run(a_session(results=RESULTS), {"on": [traced(tmp_path, 500, 900)]}, graph=graph)
    variants = analyze_run(run, title="t", created_at="now").variants
    on = variants[Variant("on", 1)]
    assert [(detail.row.identity, detail.total_ms) for detail in on.details] == [("d0.1", 1.8), ("d0.0", 1.0)]
    assert {identity: node.module_path for identity, node in (on.nodes or {}).items()} == {"d0.0": "stem", "d0.1": ""}
    assert {row.identity: row.module_path for row in on.report.operators} == {"d0.0": "stem", "d0.1": ""}
    assert variants[Variant("off", 1)].details == ()


def test_doubtful_times_of_a_delegate_are_findings_and_rows_of_their_variant(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, *(a_qnn_inference(100 * MS * run) for run in (1, 2, 3)))
    run = a_loaded_run(a_session(results=RESULTS), {"off": [traced(tmp_path, 3000, 900)], "on": [trace, trace]})
    report = build_report(run, title="t", created_at="2026-01-02T00:00:00+00:00")
    (finding,) = (finding for finding in report.findings if finding.kind is FindingKind.CLOCK_UNKNOWN)
    assert finding.message.startswith("on, 1 thread: Delegated events that were recorded on a clock")
    off, on = report.variants
    assert off.apart == ()
    assert {row.reason for row in on.apart} == {"other clock"}
    for name in ("md", "html"):
        assert "1,200,000 ticks" in FORMATS[name].render(report)
