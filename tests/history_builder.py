"""Runs of one model over many days, for tests of a history: made by the real analysis from built sessions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from builders import a_loaded_run, a_plan, a_session, paired_results
from etprof.analysis.history_rows import build_rows
from etprof.analysis.report import RunAnalysis, analyze_run
from etprof.store.history_file import add_rows

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
STEADY = [1.0, 1.004, 0.997, 1.002, 0.996, 1.001, 1.003, 0.999]
SLOWER = [value * 1.08 for value in STEADY]
# From here on a scale is that of a slower day.
_SLOW = 1.04


def an_analysis(number: int, scale: float, **changes: Any) -> RunAnalysis:
    """The run of one day; `scale` multiplies its times, `changes` go to the session."""
    started = (FIRST + timedelta(days=number)).isoformat()
    results = tuple(
        replace(result, started_at=started, latency_ns=tuple(int(each * scale) for each in result.latency_ns))
        for result in paired_results([4.0, 4.02, 3.99, 4.01], [2.0, 2.01, 1.99, 2.0])
    )
    session = a_session(a_plan(Path("run")), results, started_at=started, **changes)
    return analyze_run(a_loaded_run(session), title="a run", created_at=started)


def add_days(file: Path, scales: Sequence[float], *, every_day: bool = False, **changes: Any) -> None:
    """A run for each day; `changes` are those of the session on slower days, or on every day."""
    runs = []
    for number, scale in enumerate(scales):
        analysis = an_analysis(number, scale, **(changes if every_day or scale > _SLOW else {}))
        commit = f"c{number // len(STEADY)}"
        runs.extend(build_rows(analysis, content_sha256=str(number), added_at="2026-02-01", commit=commit))
    add_rows(file, runs)
