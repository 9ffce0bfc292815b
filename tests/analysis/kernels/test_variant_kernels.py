"""Evidence in a report: in its variant, at operators of the timed variant like it, and missed where there is none."""

from dataclasses import replace
from pathlib import Path

from builders import a_loaded_run, a_plan, a_result, a_session
from etprof.analysis.report import build_report
from etprof.core.findings import FindingKind
from etprof.core.plan import TRACE, Experiment
from etprof.core.report import Report
from etprof.core.run import Session
from sample_builder import AVX512, met, place, samples
from trace_builder import an_inference, read_inferences


def a_sampled_session() -> Session:
    """Timed variants off and on, and a sampled twin of on."""
    timed = a_plan()
    twin = Experiment("on_kernels", mode=TRACE)
    plan = replace(timed, experiments=(*timed.experiments, twin))
    results = (
        a_result("off", features_hidden=("avx512f",)),
        a_result("on"),
        a_result("on_kernels", latency_ns=(), samples="on_kernels/on_kernels_t1.kernels", features_seen=("avx512f",)),
    )
    return a_session(plan, results)


def a_report(folder: Path, session: Session, *, sampled: bool) -> Report:
    trace = read_inferences(folder, an_inference([("Fully Connected (NC, F32) GEMM #1", 80)]))
    content = samples(met(60, place(AVX512, "kernel_a"), 20), "x86_64")
    run = a_loaded_run(
        session,
        {name: [trace] for name in ("off", "on", "on_kernels")},
        sampled={"on_kernels": [(content, trace)]} if sampled else {},
    )
    return build_report(run, title="t", created_at="now")


def test_the_timed_variant_like_it_borrows_the_kernels_and_the_other_does_not(tmp_path: Path) -> None:
    report = a_report(tmp_path, a_sampled_session(), sampled=True)
    variants = {variant.experiment: variant for variant in report.variants}
    assert [variants[name].evidence is not None for name in ("off", "on", "on_kernels")] == [False, False, True]
    assert variants["on"].operators[0].kernels[0].name == "kernel_a"
    assert variants["off"].operators[0].kernels == ()
    assert variants["on_kernels"].latency is None
    assert variants["on_kernels"].evidence is not None
    assert variants["on_kernels"].evidence.verdict.startswith("AVX-512 executed: yes, in 1 of 1")
    assert FindingKind.NOT_SAMPLED not in {finding.kind for finding in report.findings}


def test_a_variant_of_another_thread_count_borrows_nothing(tmp_path: Path) -> None:
    session = a_sampled_session()
    off, on, twin = session.plan.experiments
    plan = replace(session.plan, experiments=(off, on, replace(twin, threads=(2,))))
    results = (*session.results[:2], replace(session.results[2], threads=2))
    report = a_report(tmp_path, replace(session, plan=plan, results=results), sampled=True)
    assert [variant.evidence is not None for variant in report.variants] == [False, False, True]
    assert report.variants[1].operators[0].kernels == ()


def test_a_variant_of_another_runner_borrows_nothing(tmp_path: Path) -> None:
    """Both experiments hide nothing: what tells them apart is the runner, which ours or a stock one may be."""
    session = a_sampled_session()
    off, on, twin = session.plan.experiments
    stock, ours = Path("cmake-out/arm64-sme2-off/executor_runner"), Path("cmake-out/arm64/executor_runner")
    experiments = (replace(off, hide_isa=(), runner_path=stock), replace(on, runner_path=ours), twin)
    results = (
        replace(session.results[0], runner="stock executor_runner", features_hidden=(), features_seen=()),
        *session.results[1:],
    )
    session = replace(session, plan=replace(session.plan, experiments=experiments), results=results)
    report = a_report(tmp_path, session, sampled=True)
    assert [bool(variant.operators[0].kernels) for variant in report.variants] == [False, True, True]
    assert [f.message for f in report.findings if f.kind is FindingKind.NOT_SAMPLED] == [
        "off, 1 thread: no kernels were sampled; its runner is stock executor_runner."
    ]


def test_what_the_runner_says_it_hid_counts_whoever_asked_for_it(tmp_path: Path) -> None:
    """The executor_runner of the folder ...-off hides by itself, and its plan says nothing of it."""
    session = a_sampled_session()
    off, on, twin = session.plan.experiments
    hides = Path("cmake-out/arm64-sme2-off/executor_runner")
    experiments = (off, replace(on, hide_isa=(), runner_path=hides), replace(twin, hide_isa=("avx512",)))
    hides_too = (replace(result, features_hidden=("avx512f",)) for result in session.results[1:])
    results = (session.results[0], *hides_too)
    session = replace(session, plan=replace(session.plan, experiments=experiments), results=results)
    report = a_report(tmp_path, session, sampled=True)
    assert report.variants[1].operators[0].kernels[0].name == "kernel_a"


def test_a_variant_that_hides_nothing_is_evidence_of_what_the_other_hid(tmp_path: Path) -> None:
    """The CPU has SME2, and the comparison is about i8mm."""
    session = a_sampled_session()
    seen = ("sme", "sme2", "i8mm", "dot")
    off, on, twin = (replace(result, features_seen=seen) for result in session.results)
    results = (replace(off, features_hidden=("i8mm",)), on, twin)
    trace = read_inferences(tmp_path, an_inference([("Fully Connected (NC, QS8, QC8W) GEMM #1", 80)]))
    content = samples(met(60, place((0x4E82A420).to_bytes(4, "little"), "kernel_a"), 20))
    run = a_loaded_run(
        replace(session, results=results),
        {name: [trace] for name in ("off", "on", "on_kernels")},
        sampled={"on_kernels": [(content, trace)]},
    )
    evidence = build_report(run, title="t", created_at="now").variants[2].evidence
    assert evidence is not None
    assert evidence.verdict.startswith("i8mm executed: yes, in 1 of 1")


def test_a_trace_variant_without_samples_is_a_finding(tmp_path: Path) -> None:
    findings = a_report(tmp_path, a_sampled_session(), sampled=False).findings
    assert [f.message for f in findings if f.kind is FindingKind.NOT_SAMPLED] == [
        "on_kernels, 1 thread: no kernels were sampled; its runner is native."
    ]


def test_a_run_without_trace_variants_stays_as_it_was(tmp_path: Path) -> None:
    session = a_session(results=(a_result("off"), a_result("on")))
    report = a_report(tmp_path, session, sampled=False)
    assert all(variant.evidence is None and not variant.operators[0].kernels for variant in report.variants)
    assert FindingKind.NOT_SAMPLED not in {finding.kind for finding in report.findings}
