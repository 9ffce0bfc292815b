"""What could not be made equal between two runtimes is said in the report."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_loaded_run, a_plan, a_result, a_session, an_export_meta
from etprof.analysis.report import build_report
from etprof.analysis.runtime_differences import find_runtime_differences
from etprof.core.exploration import Candidate, Exploration
from etprof.core.findings import FindingKind
from etprof.core.plan import Experiment, Pair, Plan
from etprof.core.run import Session
from etprof.core.runtimes import ONNXRUNTIME
from etprof.traces.onnxruntime_profile import read_profile
from onnxruntime_builder import Node, write_profile


def two_runtimes() -> Plan:
    experiments = (
        Experiment("et", runs=5, traced_runs=2),
        Experiment("ort", runs=5, traced_runs=2, runtime=ONNXRUNTIME),
    )
    return replace(a_plan(), experiments=experiments, pairs=(Pair("et", "ort"),))


def a_run(plan: Plan | None = None, et: Any = None, ort: Any = None, **known: Any) -> Session:
    results = [
        result
        for index in range(4)
        for result in (
            a_result("et", index, **(et or {})),
            a_result("ort", index, runner="onnxruntime", **(ort or {})),
        )
    ]
    return a_session(plan or two_runtimes(), tuple(results), **known)


def messages(session: Session) -> list[str]:
    return [finding.message for finding in find_runtime_differences(a_loaded_run(session))]


def test_one_runtime_gives_no_finding() -> None:
    plan = two_runtimes()
    experiments = tuple(replace(each, runtime="") for each in plan.experiments)
    assert messages(a_run(replace(plan, experiments=experiments))) == []


def test_memory_and_load_times_are_named_as_unequal_and_nothing_else_is_where_all_is_equal() -> None:
    (only,) = messages(a_run())
    assert only.startswith("et and ort run with ExecuTorch and ONNX Runtime, which are not loaded alike")
    assert "Peak memory" in only


@pytest.mark.parametrize(
    ("et", "ort", "said"),
    [
        ({"features_hidden": ("sme2",)}, {}, "et runs without sme2, and ort with all features of the CPU"),
        ({}, {"threads_in_force": None}, "ort, 1 thread: how many threads ONNX Runtime used is not known"),
        ({"cpu_affinity": (0, 1)}, {"cpu_affinity": (0,)}, "et and ort ran on different cores"),
    ],
)
def test_what_differs_is_a_finding(et: dict[str, Any], ort: dict[str, Any], said: str) -> None:
    _, other = messages(a_run(et=et, ort=ort))
    assert other.startswith(said)


def test_another_precision_is_a_finding() -> None:
    session = a_run()
    ours, theirs = session.programs
    metas = an_export_meta(precision="fp16"), an_export_meta(precision="fp32")
    programs = replace(ours, export_meta=metas[0]), replace(theirs, export_meta=metas[1])
    assert "et and ort differ in precision too: fp16 and fp32." in messages(replace(session, programs=programs))


def test_the_report_has_the_findings_and_no_advice_for_another_runtime() -> None:
    report = build_report(a_loaded_run(a_run()), title="t", created_at="now")
    assert FindingKind.RUNTIMES_DIFFER in {finding.kind for finding in report.findings}
    assert not [step for step in report.next_steps if step.variant.experiment == "ort"]
    assert [variant.program.runtime for variant in report.variants if variant.program] == ["executorch", "onnxruntime"]


def test_fp16_that_runs_in_fp32_names_the_runtime_that_converts(tmp_path: Path) -> None:
    filter_of = ("float", [1, 3, 8, 8]), ("float", [8, 3, 3, 3])
    trace = read_profile(write_profile(tmp_path / "p", [Node("Conv", 300, filter_of), Node("Cast", 5)]))
    meta = an_export_meta(precision="fp16", dtype="fp16")
    run = a_loaded_run(a_run(export_meta=meta), {"ort": [trace]})
    (finding,) = [each for each in build_report(run, title="t", created_at="now").findings if each.kind == "precision"]
    assert finding.message.startswith("ort, 1 thread: the model was exported as fp16, but 1 of 1 Convolution and GEMM")
    assert finding.advice.startswith("ONNX Runtime has no fp16 kernel for them on this CPU and converts")


def test_builds_to_choose_from_are_compared_with_those_of_their_precision() -> None:
    candidates = Candidate("et", "fp32", "executorch"), Candidate("ort", "fp32", ONNXRUNTIME)
    session = replace(a_run(replace(two_runtimes(), pairs=())), exploration=Exploration(candidates, 1, True))
    assert len(messages(session)) == 1
    other = replace(candidates[1], precision="fp16")
    assert messages(replace(session, exploration=Exploration((candidates[0], other), 1, True))) == []
