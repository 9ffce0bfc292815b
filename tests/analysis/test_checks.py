"""Doubts appear when the data gives reason for them, and only then."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from builders import a_plan, a_result, a_session, paired_results
from etprof.analysis.summary import build_report
from etprof.core.plan import SEQUENTIAL
from etprof.core.run import STOCK_RUNNER, BlockResult, CpuState, Session

CALM = paired_results([4.0, 4.01, 3.99, 4.0, 4.01, 3.99], [2.0, 2.01, 1.99, 2.0, 2.01, 1.99])


def kinds(session: Session, outputs: Any = None) -> list[str]:
    report = build_report(session, {}, outputs or {}, title="t", created_at="now")
    return [finding.kind for finding in report.findings]


def calm_but(**changes: Any) -> tuple[BlockResult, ...]:
    """The calm session with one field of every block of `on` changed."""
    return tuple(replace(r, **changes) if r.experiment == "on" else r for r in CALM)


def test_a_calm_session_gives_no_reason_for_doubt() -> None:
    assert kinds(a_session(results=CALM)) == []


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        (paired_results([4.0, 4.3, 4.0, 4.0, 4.3, 4.0], [2.0] * 6), "spread"),
        (paired_results([4.0, 4.1, 4.2, 4.3, 4.4, 4.5], [2.0] * 6), "drift"),
        (paired_results([4.0] * 3, [2.0] * 3), "few runs"),
        (calm_but(warmup_ns=(9_000_000, 2_000_000)), "slow first run"),
        (calm_but(traced_ns=(2_600_000,) * 5), "costly tracer"),
        (calm_but(warmup_steady=False), "not steady"),
        (calm_but(threads_in_force=4), "threads differ"),
        (calm_but(retried=("hot; median 3 ms",)), "disturbed"),
        (calm_but(cpu_before=CpuState((2_000_000,)), cpu_after=CpuState((1_800_000,))), "frequency moved"),
        ((*CALM, a_result("on", 6, error="crashed")), "block failed"),
    ],
)
def test_each_kind_of_doubt_is_found_in_its_data(results: tuple[BlockResult, ...], kind: str) -> None:
    assert kind in kinds(a_session(results=results))


def test_an_interrupted_a_sequential_and_an_emulated_run_say_so() -> None:
    assert "incomplete" in kinds(a_session(results=CALM, stop_reason=""))
    assert "not interleaved" in kinds(a_session(a_plan(order=SEQUENTIAL), CALM))
    session = a_session(results=CALM)
    assert "emulated" in kinds(replace(session, device=replace(session.device, times_are_real=False)))


def test_what_a_stock_runner_leaves_unknown_is_said() -> None:
    known = {("off", 1): (np.array([1.0]),)}
    traced = calm_but(runner=STOCK_RUNNER, latency_is_traced=True)
    assert kinds(a_session(results=traced), known) == ["traced latency", "outputs unknown"]
    bare = calm_but(runner=STOCK_RUNNER, etdump="")
    assert kinds(a_session(results=bare), known) == ["no traces", "outputs unknown"]
    alone = a_session(replace(a_plan(), pairs=()), bare)
    assert kinds(alone, known) == ["no traces"]


def test_notes_of_the_run_reach_the_reader() -> None:
    assert "note" in kinds(a_session(results=CALM, notes=("The Python runner was used.",)))


def test_outputs_beyond_tolerance_are_a_finding_and_equal_ones_are_not() -> None:
    def outputs(value: float) -> Any:
        return {("off", 1): (np.array([1.0, 2.0]),), ("on", 1): (np.array([1.0, value]),)}

    assert kinds(a_session(results=CALM), outputs(2.0)) == []
    assert kinds(a_session(results=CALM), outputs(2.1)) == ["outputs differ"]
