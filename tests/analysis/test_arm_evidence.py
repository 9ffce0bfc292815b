"""Evidence in a report: in its own arm, beside the operators of the timed arm like it, and missed where it lacks."""

from dataclasses import replace
from pathlib import Path

from builders import a_plan, a_result, a_session
from etdump_builder import Event, build_etdump
from etprof.analysis.arm_evidence import add_evidence
from etprof.analysis.summary import build_report
from etprof.core.plan import TRACE, Experiment
from etprof.core.report import Report
from etprof.core.run import Session
from etprof.traces.etdump import read_etdump
from sample_builder import AVX512, place, samples


def a_sampled_session() -> Session:
    """Timed arms off and on, and a sampled twin of on."""
    timed = a_plan()
    twin = Experiment("on_kernels", mode=TRACE)
    plan = replace(timed, experiments=(*timed.experiments, twin))
    results = (
        a_result("off", features_hidden=("avx512f",)),
        a_result("on"),
        a_result("on_kernels", latency_ns=(), samples="on_kernels/on_kernels_t1.kernels", features_seen=("avx512f",)),
    )
    return a_session(plan, results)


def a_report(tmp_path: Path, session: Session, *, sampled: bool) -> Report:
    path = tmp_path / "built.etdump"
    events = (
        Event("Fully Connected (NC, F32) GEMM #1", 10_000, 90_000, 0, delegated=True),
        Event("DELEGATE_CALL", 5_000, 95_000, 0),
        Event("Method::execute", 0, 100_000),
    )
    path.write_bytes(build_etdump([("Execute", events)]))
    trace = read_etdump(path)
    traces = {(name, 1): [trace] for name in ("off", "on", "on_kernels")}
    report = build_report(session, traces, {}, title="t", created_at="now")
    met = samples([(20_000 + i, place(AVX512, "kernel_a")) for i in range(60)], "x86_64")
    return add_evidence(report, session, {("on_kernels", 1): [(met, trace)]} if sampled else {})


def test_the_timed_arm_like_it_borrows_the_kernels_and_the_other_does_not(tmp_path: Path) -> None:
    report = a_report(tmp_path, a_sampled_session(), sampled=True)
    arms = {arm.experiment: arm for arm in report.arms}
    assert [arms[name].evidence is not None for name in ("off", "on", "on_kernels")] == [False, False, True]
    assert arms["on"].operators[0].kernels[0].name == "kernel_a"
    assert arms["off"].operators[0].kernels == ()
    assert arms["on_kernels"].latency is None
    assert arms["on_kernels"].evidence is not None
    assert arms["on_kernels"].evidence.verdict.startswith("AVX-512 executed: yes, in 1 of 1")


def test_a_trace_arm_without_samples_is_a_finding(tmp_path: Path) -> None:
    findings = a_report(tmp_path, a_sampled_session(), sampled=False).findings
    assert [f.message for f in findings if f.kind == "not sampled"] == [
        "on_kernels, 1 thread: no kernels were sampled; its runner is native."
    ]


def test_a_run_without_trace_arms_stays_as_it_was(tmp_path: Path) -> None:
    session = a_session(results=(a_result("off"), a_result("on")))
    report = a_report(tmp_path, session, sampled=False)
    assert all(arm.evidence is None and not arm.operators[0].kernels for arm in report.arms)
    assert "not sampled" not in {finding.kind for finding in report.findings}
