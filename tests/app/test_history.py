"""A history from runs to answers: rows, trends with their causes, and the page."""

from pathlib import Path

import pytest

from builders import a_device_info
from etprof.app.history import build_trends, compare_on_devices, list_runs
from etprof.core.errors import UnknownNameError
from etprof.reports.history_page import step_sentence
from etprof.store.history_file import query
from history_builder import SLOWER, STEADY, add_days

pytest.importorskip("duckdb")
pytest.importorskip("ruptures")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "h.duckdb"


def test_a_planted_regression_is_found_with_what_changed(file: Path) -> None:
    add_days(
        file, STEADY + SLOWER,
        device=a_device_info(system="Linux 7", governor="powersave"), versions={"etprof": "0.1.0", "executorch": "1.6"},
        model_sha256="2" * 64,
    )  # fmt: skip
    trends = build_trends(file, "model")
    assert [trend.variant for trend in trends] == ["off_t1", "on_t1"]
    (step,) = trends[1].steps
    assert step.index == len(STEADY)
    assert step.change == pytest.approx(0.08, abs=0.01)
    assert {name for name, _, _ in step.changed} == {"commit", "executorch", "system", "governor", "model digest"}
    said = step_sentence(trends[1], step)
    assert "8.0 % slower (2.00 ms to 2.16 ms) from the run of 2026-01-09" in said
    assert "beyond the noise of the device" in said


def test_a_steady_model_has_no_step(file: Path) -> None:
    add_days(file, STEADY * 3)
    assert [trend.steps for trend in build_trends(file)] == [(), ()]


def test_each_device_has_its_own_trend_and_they_are_compared(file: Path) -> None:
    add_days(file, STEADY, every_day=True, device=a_device_info(name="board"))
    add_days(file, [value * 2 for value in STEADY], every_day=True, device=a_device_info(name="phone"))
    trends = build_trends(file, variant="on_t1", by="device")
    assert [trend.device for trend in trends] == ["board A CPU", "phone A CPU"]
    ((key, groups),) = compare_on_devices(trends).items()
    assert key == ("model", "on_t1")
    assert [group.name for group in groups] == ["board A CPU", "phone A CPU"]
    assert groups[1].change == pytest.approx(1.0, abs=0.02)


def test_rows_of_every_table_are_kept(file: Path) -> None:
    add_days(file, STEADY[:2])
    counts = {
        table: query(file, f"select count(*) from {table}").rows[0][0] for table in ("runs", "variants", "blocks")
    }
    assert counts == {"runs": 2, "variants": 4, "blocks": 16}
    listed = list_runs(file, "model")
    assert [row[listed.columns.index("commit")] for row in listed.rows] == ["c0", "c0"]


def test_times_of_emulated_runs_are_not_kept(file: Path) -> None:
    add_days(file, STEADY[:2], every_day=True, device=a_device_info(times_are_real=False))
    for table in ("variants", "blocks"):
        assert query(file, f"select count(median_ms) from {table}").rows == [(0,)]
    with pytest.raises(Exception, match="no timed run"):
        build_trends(file)


def test_unknown_names_are_answered_with_the_known_ones(file: Path) -> None:
    add_days(file, STEADY[:2])
    for wrong in ({"model": "modle"}, {"variant": "on_t2"}, {"by": "versoin"}):
        with pytest.raises(UnknownNameError) as error:
            build_trends(file, **wrong)
        assert error.value.hint
