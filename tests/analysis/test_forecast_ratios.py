"""Ratios of operators from those of probes: by size, by kernel, and what stands in where there is none."""

import math
from dataclasses import replace

import pytest

from etprof.analysis.forecast_ratios import Ratio, RatioModel, RatioSample, Wanted, list_samples
from etprof.core.device_profile import Extent
from profile_builder import ADD, CONVOLUTION, HIDDEN, LINEAR, SHOWN, TRANSPOSE, a_profile


def estimate(samples: list[RatioSample], wanted: Wanted) -> Ratio:
    return RatioModel(samples).estimate(wanted)


def a_sample(ratio: float, rows: int = 64, depth: int = 64, columns: int = 64) -> RatioSample:
    return RatioSample(CONVOLUTION, "compute", Extent(rows, depth, columns), math.log(ratio), 1.0)


def between_levels() -> RatioModel:
    profile = a_profile()
    return RatioModel(list_samples((profile, HIDDEN), (profile, SHOWN)))


@pytest.mark.parametrize(
    ("case", "group", "ratio"),
    [(CONVOLUTION, "compute", 0.25), (LINEAR, "compute", 0.5), (TRANSPOSE, "movement", 1.0), (ADD, "elementwise", 0.8)],
)
def test_an_operator_takes_the_ratio_of_probes_with_the_same_kernel(case: object, group: str, ratio: float) -> None:
    extent = Extent(4096, 576 if group == "compute" else 1, 192)
    found = between_levels().estimate(Wanted(group, case, extent))  # type: ignore[arg-type]
    assert math.exp(found.log) == pytest.approx(ratio, rel=0.06)
    assert found.basis == "operators of the same kernel and like size"


def test_the_nearest_sizes_count_most() -> None:
    samples = [a_sample(0.2, rows=16), a_sample(1.0, rows=16_384)]
    small = estimate(samples, Wanted("compute", CONVOLUTION, Extent(32, 64, 64)))
    large = estimate(samples, Wanted("compute", CONVOLUTION, Extent(8192, 64, 64)))
    assert math.exp(small.log) < 0.35
    assert math.exp(large.log) > 0.75


def test_columns_that_fill_no_tile_are_apart_from_those_that_do() -> None:
    samples = [a_sample(0.4, columns=72), a_sample(0.9, columns=64)]
    odd = estimate(samples, Wanted("compute", CONVOLUTION, Extent(64, 64, 88)))
    even = estimate(samples, Wanted("compute", CONVOLUTION, Extent(64, 64, 128)))
    assert odd.log < even.log


def test_another_kernel_of_the_group_stands_in_with_a_wider_spread() -> None:
    other = replace(CONVOLUTION, operator="transposed convolution")
    known, unknown = (
        between_levels().estimate(Wanted("compute", case, Extent(4096, 576, 192))) for case in (CONVOLUTION, other)
    )
    assert 0.25 < math.exp(unknown.log) < 0.5
    assert unknown.spread > known.spread
    assert unknown.basis == "operators of the group compute and type"


def test_an_unknown_kind_is_carried_over_as_data_that_moves() -> None:
    fast = RatioModel(list_samples((a_profile(), SHOWN), (a_profile(speed=2.0), SHOWN)))
    found = fast.estimate(Wanted("softmax"))
    assert math.exp(found.log) == pytest.approx(0.5, rel=0.1)
    assert found.basis == "operators that move data"


def test_without_any_probe_the_time_is_carried_over_and_said_to_be_unknown() -> None:
    found = estimate([], Wanted("compute", CONVOLUTION, Extent(1, 1, 1)))
    assert found.log == 0.0
    assert found.spread == pytest.approx(0.7)
    assert "carried over" in found.basis


def test_probes_of_a_microsecond_count_less() -> None:
    profile = a_profile()
    (one, *others) = profile.operators
    short = replace(one, times_us={name: replace(us, value=us.value / 500) for name, us in one.times_us.items()})
    samples = list_samples((replace(profile, operators=(short, *others)), HIDDEN), (profile, SHOWN))
    assert samples[0].weight < 0.7
    assert samples[1].weight > 0.9


def test_only_probes_that_both_profiles_have_are_compared() -> None:
    profile = a_profile()
    fewer = replace(profile, operators=profile.operators[:3])
    assert len(list_samples((profile, HIDDEN), (fewer, SHOWN))) == 3
