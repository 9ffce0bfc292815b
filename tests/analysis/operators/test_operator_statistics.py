"""Operators ranked by time, each with an identity of its own."""

from pathlib import Path

import numpy as np
import pytest

from etdump_builder import Event
from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.operator_statistics import (
    SAMPLES_KEPT,
    build_operator_details,
    build_operators,
    collect_operators,
    find_unmatched_names,
)
from etprof.core.categories import Rule
from trace_builder import RECORDED, a_call, an_inference, read_inferences, recorded


def inference(first: int, second: int, portable: int = 0, name: str = "Add (ND) #1") -> tuple[Event, ...]:
    return (
        Event("Add (ND) #1", 110, 110 + first, 0, delegated=True),
        Event("DELEGATE_CALL", 105, 5000, 0),
        Event(name, 6000, 6000 + second, 1, delegated=True),
        Event("DELEGATE_CALL", 5990, 9000, 1),
        Event("native_call_mean.out", 9100, 9100 + portable, 2),
        Event("OPERATOR_CALL", 9100, 9400, 2),
        Event("Method::execute", 100, 10100),
    )


@pytest.mark.parametrize("name", RECORDED)
def test_operators_add_up_to_their_categories(name: str) -> None:
    trace = recorded(name)
    accounting = build_accounting([trace])
    total_ms = sum(detail.total_ms for detail in build_operator_details([trace]))
    assert total_ms * 1e6 == pytest.approx(accounting.delegated_ns + accounting.portable_ns, abs=1)
    shares = sum(row.share for row in build_operators([trace]))
    assert shares == pytest.approx(
        sum(row.share for row in build_categories(collect_operators([trace]), build_accounting([trace]))[:5])
    )


@pytest.mark.parametrize("name", RECORDED)
def test_no_recorded_name_is_without_a_rule(name: str) -> None:
    assert find_unmatched_names([recorded(name)]) == ()


def test_namesakes_of_two_delegate_calls_stay_apart(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, inference(1, 9), inference(100, 900), inference(300, 700))
    rows = build_operators([trace])
    assert [(row.identity, row.name) for row in rows[:2]] == [("d1.0", "Add (ND) #1"), ("d0.0", "Add (ND) #1")]
    assert [row.mean_ms for row in rows[:2]] == [0.0008, 0.0002]


def test_the_cold_run_is_told_apart_from_the_steady_ones(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, inference(4000, 0), inference(100, 0), inference(300, 0))
    detail = next(d for d in build_operator_details([trace]) if d.row.identity == "d0.0")
    assert (detail.row.count, detail.row.mean_ms, detail.min_ms, detail.max_ms) == (2, 0.0002, 0.0001, 0.0003)
    assert detail.cold_ms == 0.004
    assert build_accounting([trace]).runs == 2
    assert build_accounting([trace], cold=True).runs == 1


def test_a_single_run_is_all_there_is(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, inference(100, 200))
    detail = build_operator_details([trace])[0]
    assert (detail.row.count, detail.cold_ms) == (1, None)


def test_blocks_of_two_processes_are_one_sample(tmp_path: Path) -> None:
    first = read_inferences(tmp_path, inference(9, 9), inference(100, 0))
    second = read_inferences(tmp_path, inference(9, 9), inference(300, 0), inference(500, 0))
    row = next(r for r in build_operators([first, second]) if r.identity == "d0.0")
    assert (row.count, row.mean_ms, row.median_ms) == (3, 0.0003, 0.0003)
    assert row.samples_ms == (0.0001, 0.0003, 0.0005)


def test_two_signatures_are_two_sets_of_operators(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, inference(1, 2), inference(1, 2), inference(1, 2, name="Clamp (NC) #1"))
    assert {row.identity for row in build_operators([trace])} == {
        f"s{signature}.{place}" for signature in (0, 1) for place in ("d0.0", "d1.0", "p0")
    }


def test_medians_and_percentiles_are_those_of_numpy() -> None:
    trace = recorded("small_cnn")
    (samples,) = collect_operators([trace])
    rows = {detail.row.identity: detail for detail in build_operator_details([trace])}
    for column, identity in enumerate(samples.identities):
        values = samples.steady_ns[:, column] / 1e6
        assert rows[identity].row.median_ms == pytest.approx(np.median(values), abs=1e-12)
        assert rows[identity].std_ms == pytest.approx(np.std(values), abs=1e-12)
        assert rows[identity].p95_ms == pytest.approx(np.percentile(values, 95, method="inverted_cdf"), abs=1e-12)


def test_a_name_that_no_rule_knows_is_listed_once(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference(a_call("New Thing #2", "Add (ND) #1", "New Thing #2")))
    assert find_unmatched_names([trace, trace]) == ("New Thing #2",)
    assert find_unmatched_names([trace], (Rule("^New Thing", "GEMM", "mine"), Rule("^Add", "GEMM", "mine"))) == ()


def test_of_many_inferences_some_are_kept_evenly_from_first_to_last(tmp_path: Path) -> None:
    times = range(1, 3 * SAMPLES_KEPT + 1)
    cold = an_inference([("Add (ND) #1", 9999)])
    inferences = (an_inference([("Add (ND) #1", us)], start_us=10_000 + us * 1000) for us in times)
    (row,) = build_operators([read_inferences(tmp_path, cold, *inferences)])
    assert len(row.samples_ms) == SAMPLES_KEPT
    assert (row.samples_ms[0], row.samples_ms[-1]) == (0.001, times[-1] / 1000)
    steps = np.diff(row.samples_ms)
    assert steps.max() - steps.min() <= 0.001 + 1e-9
