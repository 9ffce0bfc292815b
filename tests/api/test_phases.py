"""The phases of a workload as tables."""

from pathlib import Path

from etprof.api.runs import ReportView
from report_builder import a_report
from workload_builder import a_phase_report


def test_phases_steps_categories_and_operators_are_tables(tmp_path: Path) -> None:
    view = ReportView(a_phase_report(tmp_path))
    phases = view.phases()
    assert [(row["phase"], row["experiment"]) for row in phases] == [
        (phase, name) for phase in ("prefill", "decode", "whole sequence") for name in ("off", "on")
    ]
    assert phases[1]["verdict"] == "faster"
    assert len(view.steps()) == 2 * 16
    assert {row["phase"] for row in view.phase_categories()} == {"prefill", "decode", "whole sequence"}
    assert [row["identity"] for row in view.phase_operators()][:3] == ["s0.d0.0", "s0.d0.1", "s0.p0"]


def test_without_a_workload_they_have_columns_and_no_rows(tmp_path: Path) -> None:
    view = ReportView(a_report(tmp_path))
    for table in (view.phases(), view.steps(), view.phase_categories(), view.phase_operators()):
        assert len(table) == 0
        assert table.columns[:3] == ("experiment", "threads", "phase")
