"""Levels of many comparisons, against the procedure as Holm describes it."""

import numpy as np
import pytest

from etprof.analysis.timing.holm import holm_levels, paired_p_value


def rejects(p_values: list[float], level: float) -> list[bool]:
    """Step by step: the smallest first, until one is not significant."""
    rejected = [False] * len(p_values)
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] > level / (len(p_values) - rank):
            break
        rejected[index] = True
    return rejected


def test_levels_reject_what_the_procedure_rejects() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        p_values = (rng.random(6) ** rng.integers(1, 6)).tolist()
        levels = holm_levels(p_values, 0.05)
        assert [p <= level for p, level in zip(p_values, levels, strict=True)] == rejects(p_values, 0.05)


def test_the_first_that_is_not_significant_ends_it_for_all_behind_it() -> None:
    """Taken by itself, 0.04 would be significant; behind 0.03, which is not, it is not either."""
    assert holm_levels([0.04, 0.001, 0.03], 0.05) == pytest.approx([0.05 / 2, 0.05 / 3, 0.05 / 2])


def test_one_comparison_keeps_its_level_and_none_needs_none() -> None:
    assert holm_levels([0.2], 0.05) == [0.05]
    assert holm_levels([], 0.05) == []


def test_the_p_value_is_that_of_students_paired_test() -> None:
    # scipy.stats.ttest_1samp([0.1, 0.2, 0.15, 0.05], 0)
    assert paired_p_value(np.array([0.1, 0.2, 0.15, 0.05])) == pytest.approx(0.0305, abs=5e-5)
    assert paired_p_value(np.array([0.1, 0.1, 0.1])) < 1e-9
    assert paired_p_value(np.zeros(3)) == 1.0
