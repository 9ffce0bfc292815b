"""Trends: levels, what changed with a step, groups, and a further run against the present level."""

from collections.abc import Sequence

import pytest

from etprof.analysis.timing.trends import build_trend, compare_devices, estimate_against, group_trend
from etprof.core.history import TrendPoint

pytest.importorskip("ruptures")

NOISE = (0.0, 0.004, -0.003, 0.002, -0.004, 0.001, 0.003, -0.001)


def points(values: Sequence[float], **facts: Sequence[str]) -> list[TrendPoint]:
    return [
        TrendPoint(
            run_id=str(number),
            started_at=f"2026-01-{number + 1:02d}",
            folder="",
            median_ms=value * (1 + NOISE[number % len(NOISE)]),
            noise_floor=0.01,
            commit=f"c{number // 4}",
            facts={name: told[number] for name, told in facts.items()},
        )
        for number, value in enumerate(values)
    ]


def test_a_step_names_what_changed_in_the_manifest() -> None:
    versions = ["1.5.1"] * 8 + ["1.6.0"] * 8
    trend = build_trend(
        "m", "on_t1", "phone", points([5.0] * 8 + [5.5] * 8, executorch=versions, system=["Linux"] * 16)
    )
    (step,) = trend.steps
    assert step.index == 8
    assert step.changed == (("commit", "c1", "c2"), ("executorch", "1.5.1", "1.6.0"))
    assert step.is_beyond_noise
    assert step.change == pytest.approx(0.1, abs=0.01)
    assert [point.run_id for point in trend.stable] == [str(number) for number in range(8, 16)]


def test_a_step_smaller_than_the_noise_inside_the_runs_is_said_to_be_so() -> None:
    (step,) = build_trend("m", "on_t1", "phone", points([5.0] * 8 + [5.04] * 8)).steps
    assert not step.is_beyond_noise


def test_runs_of_a_version_are_taken_together() -> None:
    versions = ["1.5.1"] * 8 + ["1.6.0"] * 8
    trend = group_trend(build_trend("m", "v", "d", points([5.0] * 8 + [5.5] * 8, executorch=versions)), "version")
    assert [(group.name, group.runs) for group in trend.groups] == [("1.5.1", 8), ("1.6.0", 8)]
    assert trend.groups[0].change is None
    assert trend.groups[1].change == pytest.approx(0.1, abs=0.01)


def test_devices_are_compared_by_their_present_level() -> None:
    slow, fast = (build_trend("m", "v", name, points([at] * 8)) for name, at in (("slow", 6.0), ("fast", 3.0)))
    groups = compare_devices([slow, fast])
    assert [group.name for group in groups] == ["fast", "slow"]
    assert groups[0].change is None
    assert groups[1].change == pytest.approx(1.0, abs=0.02)


def test_a_further_run_is_estimated_with_the_spread_between_runs() -> None:
    stable = points([5.0] * 12)
    same, slower = estimate_against(stable, 5.0), estimate_against(stable, 6.0)
    assert same is not None
    assert same.low < 1 < same.high
    assert slower is not None
    assert slower.high < 0.87
    assert estimate_against(stable[:2], 5.0) is None
