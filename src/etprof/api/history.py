"""Many runs in one file, from Python: the same rows and trends as `etprof history`."""

from pathlib import Path

from etprof.api import StrPath
from etprof.api.runs import Run
from etprof.api.tables import Table, build_table
from etprof.app.history import add_analysis, add_runs, build_trends, write_history_page
from etprof.core.history import Trend
from etprof.store.history_file import export_parquet, query


class History:
    """One DuckDB file; it is made when the first run is added."""

    def __init__(self, file: StrPath) -> None:
        self.file = Path(file)

    def add(self, *runs: Run | StrPath, commit: str = "") -> list[str]:
        """Puts runs in, each given as a Run or by its folder; says of each: added, updated or unchanged."""
        return [self._add(run, commit) for run in runs]

    def _add(self, run: Run | StrPath, commit: str) -> str:
        if isinstance(run, Run):
            return add_analysis(self.file, run._analysis, commit=commit)
        (outcome,) = add_runs(self.file, [Path(run)], commit=commit).values()
        return outcome

    def sql(self, statement: str) -> Table:
        """The answer to a query, which only reads."""
        answer = query(self.file, statement)
        return build_table(answer.columns, answer.rows)

    def trends(self, model: str = "", *, variant: str = "", by: str = "") -> tuple[Trend, ...]:
        """A trend for each variant and device, with the steps where the level changed."""
        return build_trends(self.file, model, variant=variant, by=by)

    def write_report(self, target: StrPath) -> Path:
        """All trends as one HTML page."""
        return write_history_page(self.file, Path(target))

    def export_parquet(self, folder: StrPath) -> list[Path]:
        """Every table as one file."""
        return export_parquet(self.file, Path(folder))

    def __repr__(self) -> str:
        return f"<History {self.file}>"
