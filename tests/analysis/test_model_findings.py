"""A run shows what is surprising about its model: in the report, once, beside the doubts about the measurement."""

from dataclasses import replace
from pathlib import Path

from builders import a_loaded_run, a_session, an_export_meta, paired_results
from etdump_builder import Event
from etprof.analysis.report import build_report
from etprof.core.findings import ABOUT_THE_MODEL, FindingKind
from etprof.core.model import ExportMeta
from etprof.core.report import Report
from etprof.core.trace import Trace
from graph_builder import a_graph, a_node, a_tensor
from trace_builder import an_inference, read_inferences

FP16 = an_export_meta(dtype="fp16", precision="fp16")
CALM = paired_results([4.0] * 6, [2.0] * 6)


def cut_by_gelu(folder: Path, calls: int, data_type: str) -> Trace:
    """Convolutions in delegate calls of their own, a portable GELU after each but the last."""
    events: list[Event] = []
    at = 0
    for call in range(calls):
        name = f"Convolution (NHWC, {data_type}) IGEMM #{call + 1}"
        events.append(Event(name, at, at + 90_000, 2 * call, delegated=True))
        events.append(Event("DELEGATE_CALL", at, at + 100_000, 2 * call))
        at += 100_000
        if call < calls - 1:
            events.append(Event("native_call_gelu.out", at, at + 50_000, 2 * call + 1))
            events.append(Event("OPERATOR_CALL", at, at + 60_000, 2 * call + 1))
            at += 60_000
    events.append(Event("Method::execute", 0, at + 1_000))
    return read_inferences(folder, events, events)


def report_of(trace: Trace, meta: ExportMeta, *, calls: int, weights: str) -> Report:
    image, filters = a_tensor(0, 1, 8, 8, 4, dtype="fp16"), a_tensor(9, 4, 3, 3, 4, dtype=weights, constant=True)
    partitions = [
        (a_node(0, "XNNConv2d", 1, inputs=(image, filters), outputs=(image,), module=f"blocks.{i}.conv"),)
        for i in range(calls)
    ]
    gelus = tuple(a_node(i, "aten::gelu.out", module=f"blocks.{i}.act") for i in range(calls - 1))
    session = a_session(results=CALM, export_meta=meta)
    run = a_loaded_run(session, {"off": [trace], "on": [trace]}, graph=a_graph(*partitions, undelegated=gelus))
    return build_report(run, title="t", created_at="now")


def test_each_surprise_is_in_the_report_with_its_modules(tmp_path: Path) -> None:
    report = report_of(cut_by_gelu(tmp_path, 6, "F32"), FP16, calls=6, weights="fp32")
    found = [finding for finding in report.findings if finding.kind in ABOUT_THE_MODEL]
    kinds = [finding.kind for finding in found]
    assert kinds == [FindingKind.FILE_SIZE, FindingKind.PARTITIONS, FindingKind.PRECISION, FindingKind.PRECISION]
    assert "6 partitions: gelu is not delegated and cuts it in 5 of 5 places (blocks.0.act, " in found[1].message
    assert [finding.message.split(":")[0] for finding in found[2:]] == ["off, 1 thread", "on, 1 thread"]
    assert all("6 of 6 Convolution and GEMM operators run in fp32" in finding.message for finding in found[2:])


def test_a_model_that_is_as_it_was_asked_for_has_no_surprise(tmp_path: Path) -> None:
    whole = read_inferences(tmp_path, an_inference([("Convolution (NHWC, F16) IGEMM #1", 90)]))
    assert report_of(whole, FP16, calls=1, weights="fp16").findings == ()
    fp32 = cut_by_gelu(tmp_path, 2, "F32")
    assert report_of(fp32, an_export_meta(), calls=2, weights="fp32").findings == ()


def test_without_facts_about_the_export_only_the_cuts_are_known(tmp_path: Path) -> None:
    session = a_session(results=CALM)
    run = a_loaded_run(session, {"on": [cut_by_gelu(tmp_path, 6, "F32")]})
    kinds = [finding.kind for finding in build_report(run, title="t", created_at="now").findings]
    assert kinds == [FindingKind.PARTITIONS]


def test_a_program_of_another_version_than_its_runner_is_a_finding(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference([("Convolution (NHWC, F16) IGEMM #1", 90)]))
    results = tuple(replace(result, executorch_version="1.5.1") for result in CALM)
    for exported, is_found in (("1.4.0+cpu", True), ("1.5.1+cpu", False), (None, False)):
        meta = replace(FP16, versions={"executorch": exported})
        session = a_session(results=results, export_meta=meta)
        report = build_report(a_loaded_run(session, {"off": [trace], "on": [trace]}), title="t", created_at="now")
        found = [finding.message for finding in report.findings if finding.kind is FindingKind.VERSIONS_DIFFER]
        assert found == ["model.pte was exported with ExecuTorch 1.4.0, and its runner is of 1.5.1."] * is_found
