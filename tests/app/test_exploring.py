"""The time of an exploration."""

import pytest

from etprof.app.exploring import keep_for_report


@pytest.mark.parametrize(("budget_s", "kept_s"), [(600.0, 40.0), (3600.0, 40.0), (60.0, 6.0), (None, 0.0)])
def test_some_of_the_time_is_kept_for_the_report(budget_s: float | None, kept_s: float) -> None:
    assert keep_for_report(budget_s) == pytest.approx(kept_s)
