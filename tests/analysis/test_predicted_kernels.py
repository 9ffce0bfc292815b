"""What was predicted against what executed, operator by operator, matched by graph node."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_loaded_run, a_plan, a_result, a_session
from etdump_builder import Event
from etprof.analysis.predicted_kernels import find_level
from etprof.analysis.report import build_report
from etprof.core.findings import FindingKind
from etprof.core.graph import ModelGraph
from etprof.core.loaded_run import LoadedRun
from etprof.core.plan import TRACE, Experiment
from etprof.core.predictions import CpuLevel, KernelTable
from etprof.core.report import Report
from kernel_table_builder import CONVOLUTION, DEPTHWISE, GRAPH, LINEAR, a_table
from sample_builder import MOPA, PLAIN, US, met, samples
from trace_builder import read_inferences

# XNNPACK runs a depthwise convolution of 49 taps as IGEMM.
NAMES = ("Convolution (NHWC, PF32) IGEMM #1", "Convolution (NHWC, F32) IGEMM #1", "Fully Connected (NC, F32) GEMM #1")
FEATURES = ("dot", "i8mm", "sme", "sme2")


def a_run(folder: Path, graph: ModelGraph = GRAPH, *, seen: tuple[str, ...] = FEATURES) -> LoadedRun:
    """One sampled variant: 100 samples of SME2 in the first operator, 100 of NEON in each of the others."""
    plan = replace(a_plan(), experiments=(Experiment("on", mode=TRACE),), pairs=())
    session = a_session(plan, (a_result("on", latency_ns=(), samples="on.kernels", features_seen=seen),))
    events = [Event(name, 10 * US + at * 100 * US, 110 * US + at * 100 * US, 0, delegated=True)
              for at, name in enumerate(NAMES)]  # fmt: skip
    trace = read_inferences(
        folder, (*events, Event("DELEGATE_CALL", 5 * US, 320 * US, 0), Event("Method::execute", 0, 400 * US))
    )
    taken = samples(met(100, MOPA, 20) + met(100, PLAIN, 120) + met(100, PLAIN, 220))
    run = a_loaded_run(session, {"on": [trace]}, sampled={"on": [(taken, trace)]})
    return replace(run, variants=tuple(replace(each, graph=graph) for each in run.variants))


def report_of(run: LoadedRun, table: KernelTable | None) -> Report:
    version = run.variants[0].results[0].executorch_version
    return build_report(run, title="t", created_at="now", tables={version: table})


def test_what_executed_as_predicted_is_counted_and_no_finding(tmp_path: Path) -> None:
    report = report_of(a_run(tmp_path), a_table(on_neon=(DEPTHWISE, LINEAR)))
    assert report.explanation is not None
    (check,) = report.explanation.checks
    assert (check.level, check.agreed, check.disagreements) == (CpuLevel.SME2, 3, ())
    assert (check.unpredicted, check.undecided, check.unmatched) == (0, 0, 0)
    assert FindingKind.PREDICTION not in {finding.kind for finding in report.findings}


def test_the_reason_of_an_igemm_is_that_of_its_node(tmp_path: Path) -> None:
    report = report_of(a_run(tmp_path), a_table())
    evidence = report.variants[0].evidence
    assert evidence is not None
    reasons = {row.name: row.reason for row in evidence.operators}
    assert reasons[NAMES[0]] == ""
    assert reasons[NAMES[1]].startswith("Depthwise convolutions have no SME2 kernel")


def test_a_disagreement_is_a_finding_with_the_operator_and_its_module(tmp_path: Path) -> None:
    report = report_of(a_run(tmp_path), a_table(on_sme2=(CONVOLUTION, LINEAR)))
    assert report.explanation is not None
    (check,) = report.explanation.checks
    (wrong,) = check.disagreements
    assert (wrong.name, wrong.predicted, wrong.executed, wrong.kind) == (NAMES[2], "SME2", "NEON", "linear")
    (finding,) = [finding for finding in report.findings if finding.kind is FindingKind.PREDICTION]
    assert finding.message == (
        f"on, 1 thread: 1 operator of kind linear executed NEON where SME2 was predicted, such as {NAMES[2]} (head)."
    )


def test_what_the_table_or_the_samples_do_not_decide_is_neither(tmp_path: Path) -> None:
    report = report_of(a_run(tmp_path), a_table(on_sme2=(CONVOLUTION,), on_neon=()))
    assert report.explanation is not None
    (check,) = report.explanation.checks
    assert (check.agreed, check.disagreements, check.unpredicted) == (1, (), 2)


def test_a_graph_that_does_not_fit_the_trace_matches_nothing(tmp_path: Path) -> None:
    report = report_of(a_run(tmp_path, replace(GRAPH, partitions=((LINEAR,),))), a_table())
    assert report.explanation is not None
    assert report.explanation.checks[0].unmatched == 3


def test_without_a_table_nothing_is_predicted_and_without_a_graph_nothing_is_explained(tmp_path: Path) -> None:
    report = report_of(a_run(tmp_path), None)
    assert report.explanation is not None
    assert report.explanation.executorch == ""
    assert report.explanation.checks[0].unpredicted == 3
    run = a_run(tmp_path)
    bare = replace(run, variants=tuple(replace(each, graph=None) for each in run.variants))
    assert report_of(bare, a_table()).explanation is None


@pytest.mark.parametrize(
    ("features", "level"),
    [
        (FEATURES, CpuLevel.SME2),
        (("dot", "i8mm"), CpuLevel.I8MM),
        (("dot",), CpuLevel.DOT_PRODUCT),
        (("dot", "i8mm", "sme"), None),
        (("avx2",), None),
    ],
)
def test_a_cpu_stands_for_the_best_level_it_has_but_sme_alone_was_not_probed(
    features: tuple[str, ...], level: CpuLevel | None
) -> None:
    assert find_level(features) is level
