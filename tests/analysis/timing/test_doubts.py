"""Doubts appear when the data gives reason for them, and only then."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import a_loaded_run, a_plan, a_result, a_session, paired_results
from etprof.analysis.report import build_report
from etprof.core.findings import FindingKind
from etprof.core.loaded_run import Outputs
from etprof.core.plan import SEQUENTIAL
from etprof.core.run import STOCK_RUNNER, BlockResult, CpuTime, Session, ThreadTime
from trace_builder import a_call, an_inference, read_inferences

CALM = paired_results([4.0, 4.01, 3.99, 4.0, 4.01, 3.99], [2.0, 2.01, 1.99, 2.0, 2.01, 1.99])


def kinds(session: Session, outputs: Mapping[str, Outputs] | None = None) -> list[FindingKind]:
    report = build_report(a_loaded_run(session, outputs=outputs), title="t", created_at="now")
    return [finding.kind for finding in report.findings]


def calm_but(**changes: Any) -> tuple[BlockResult, ...]:
    """The calm session with one field of every block of `on` changed."""
    return tuple(replace(r, **changes) if r.experiment == "on" else r for r in CALM)


def test_a_calm_session_gives_no_reason_for_doubt() -> None:
    assert kinds(a_session(results=CALM)) == []


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        (paired_results([4.0, 4.3, 4.0, 4.0, 4.3, 4.0], [2.0] * 6), FindingKind.SPREAD),
        (paired_results([4.0, 4.1, 4.2, 4.3, 4.4, 4.5], [2.0] * 6), FindingKind.DRIFT),
        (paired_results([4.0] * 3, [2.0] * 3), FindingKind.FEW_RUNS),
        (calm_but(traced_ns=(2_600_000,) * 5), FindingKind.COSTLY_TRACER),
        (calm_but(warmup_steady=False), FindingKind.NOT_STEADY),
        (calm_but(threads_in_force=4), FindingKind.THREADS_DIFFER),
        (calm_but(retried=("hot; median 3 ms",)), FindingKind.DISTURBED),
        (calm_but(cpu_time=CpuTime(9, 9, (ThreadTime(5, 4),))), FindingKind.CORES_MISSING),
        ((*CALM, a_result("on", 6, error="crashed")), FindingKind.BLOCK_FAILED),
    ],
)
def test_each_kind_of_doubt_is_found_in_its_data(results: tuple[BlockResult, ...], kind: FindingKind) -> None:
    assert kind in kinds(a_session(results=results))


def test_an_interrupted_a_sequential_and_an_emulated_run_say_so() -> None:
    assert FindingKind.INCOMPLETE in kinds(a_session(results=CALM, stop_reason=""))
    assert FindingKind.NOT_INTERLEAVED in kinds(a_session(a_plan(order=SEQUENTIAL), CALM))
    session = a_session(results=CALM)
    assert FindingKind.EMULATED in kinds(replace(session, device=replace(session.device, times_are_real=False)))


def test_what_a_stock_runner_leaves_unknown_is_said() -> None:
    known = {"off": (np.array([1.0]),)}
    traced = calm_but(runner=STOCK_RUNNER, latency_is_traced=True)
    assert kinds(a_session(results=traced), known) == [FindingKind.TRACED_LATENCY, FindingKind.OUTPUTS_UNKNOWN]
    bare = calm_but(runner=STOCK_RUNNER, etdump="")
    assert kinds(a_session(results=bare), known) == [FindingKind.NO_TRACES, FindingKind.OUTPUTS_UNKNOWN]
    alone = a_session(replace(a_plan(), pairs=()), bare)
    assert kinds(alone, known) == [FindingKind.NO_TRACES]


def test_notes_of_the_run_reach_the_reader() -> None:
    assert FindingKind.NOTE in kinds(a_session(results=CALM, notes=("The Python runner was used.",)))


def test_outputs_beyond_tolerance_are_a_finding_and_equal_ones_are_not() -> None:
    def outputs(value: float) -> dict[str, Outputs]:
        return {"off": (np.array([1.0, 2.0]),), "on": (np.array([1.0, value]),)}

    assert kinds(a_session(results=CALM), outputs(2.0)) == []
    assert kinds(a_session(results=CALM), outputs(2.1)) == [FindingKind.OUTPUTS_DIFFER]


def test_a_drift_is_told_with_its_direction_and_size() -> None:
    rising, falling = [4.0, 4.1, 4.2, 4.3, 4.4, 4.5], [4.5, 4.4, 4.3, 4.2, 4.1, 4.0]
    session = a_session(results=paired_results(rising, falling))
    report = build_report(a_loaded_run(session), title="t", created_at="now")
    messages = [finding.message for finding in report.findings if finding.kind is FindingKind.DRIFT]
    assert messages == [
        "off, 1 thread: latency rose by 11.8 % over the run.",
        "on, 1 thread: latency fell by 11.8 % over the run.",
    ]


def test_a_machine_that_became_faster_was_not_throttled() -> None:
    rising, falling = [4.0, 4.1, 4.2, 4.3, 4.4, 4.5], [4.5, 4.4, 4.3, 4.2, 4.1, 4.0]
    report = build_report(a_loaded_run(a_session(results=paired_results(rising, falling))), title="t", created_at="now")
    rose, fell = [finding.advice for finding in report.findings if finding.kind is FindingKind.DRIFT]
    assert "throttled" in rose
    assert "throttled" not in fell
    assert "warmed" not in fell


def test_blocks_that_failed_or_were_repeated_for_the_same_reason_are_one_finding() -> None:
    failed = [a_result("on", 6 + i, error="crashed", log=f"on/{i}.log") for i in range(3)]
    odd = a_result("on", 9, error="out of memory")
    results = (
        *(replace(r, retried=("it was hot",)) if r.index < 5 and r.experiment == "on" else r for r in CALM),
        *failed,
        odd,
    )
    report = build_report(a_loaded_run(a_session(results=results)), title="t", created_at="now")
    messages = [finding.message for finding in report.findings]
    assert "3 of 10 blocks of on_t1 failed: crashed" in messages
    assert "Block 10 of on_t1 failed: out of memory" in messages
    assert "on, 1 thread: 5 of 6 blocks were run again, the first because it was hot." in messages
    assert len([m for m in messages if "failed" in m or "run again" in m]) == 3


def test_an_operator_that_no_rule_matches_is_named(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference(a_call("New Thing #1", "Add (ND) #1")))
    run = a_loaded_run(a_session(results=CALM), {"on": [trace]})
    findings = build_report(run, title="t", created_at="now").findings
    assert [finding.message for finding in findings if finding.kind is FindingKind.UNKNOWN_OPERATORS] == [
        "on, 1 thread: no category rule matches New Thing #1; counted as Other."
    ]
