"""Runs as rows of one DuckDB file: writers take turns, a run is one transaction, readers change nothing.

The schema is documented in docs/reference/history.md. A query of a user runs with neither write nor file access.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from etprof.core.errors import DependencyError, StoreError, UsageError

if TYPE_CHECKING:
    import duckdb

# 1: first version.
HISTORY_VERSION = 1
_WAIT_S = 60.0
_PAUSE_S = 0.05

Row = Mapping[str, object]
# The rows of one run, by table.
RunRows = Mapping[str, Sequence[Row]]

# Each table with its columns, in the order they are documented in. A run's rows are found by `run_id` in all of them.
TABLES: dict[str, dict[str, str]] = {
    "runs": {
        "run_id": "VARCHAR PRIMARY KEY", "content_sha256": "VARCHAR", "folder": "VARCHAR", "report": "VARCHAR",
        "added_at": "TIMESTAMP", "started_at": "TIMESTAMP", "model": "VARCHAR", "model_sha256": "VARCHAR",
        "precision": "VARCHAR", "method": "VARCHAR", "device": "VARCHAR", "device_name": "VARCHAR",
        "cpu_model": "VARCHAR", "architecture": "VARCHAR", "cpu_count": "INTEGER", "system": "VARCHAR",
        "governor": "VARCHAR", "times_are_real": "BOOLEAN", "commit": "VARCHAR", "etprof": "VARCHAR",
        "executorch": "VARCHAR", "runner_sha256": "VARCHAR", "facts": "JSON", "stop_reason": "VARCHAR",
    },
    "variants": {
        "run_id": "VARCHAR", "variant": "VARCHAR", "experiment": "VARCHAR", "threads": "INTEGER", "hidden": "VARCHAR",
        "blocks": "INTEGER", "median_ms": "DOUBLE", "mad_ms": "DOUBLE", "p95_ms": "DOUBLE", "cold_ms": "DOUBLE",
        "load_ms": "DOUBLE", "peak_bytes": "BIGINT", "noise_floor": "DOUBLE", "extension_share": "DOUBLE",
    },
    "blocks": {
        "run_id": "VARCHAR", "variant": "VARCHAR", "block": "INTEGER", "started_at": "TIMESTAMP", "error": "VARCHAR",
        "iterations": "INTEGER", "median_ms": "DOUBLE", "load_ms": "DOUBLE", "peak_bytes": "BIGINT",
        "temperature_c": "DOUBLE",
    },
    "operators": {
        "run_id": "VARCHAR", "variant": "VARCHAR", "operator": "VARCHAR", "name": "VARCHAR", "category": "VARCHAR",
        "kind": "VARCHAR", "module": "VARCHAR", "delegated": "BOOLEAN", "mean_ms": "DOUBLE", "share": "DOUBLE",
        "macs": "BIGINT",
    },
    "categories": {
        "run_id": "VARCHAR", "variant": "VARCHAR", "category": "VARCHAR", "mean_ms": "DOUBLE", "share": "DOUBLE",
    },
    "findings": {"run_id": "VARCHAR", "kind": "VARCHAR", "message": "VARCHAR", "advice": "VARCHAR"},
}  # fmt: skip


class Answer(NamedTuple):
    """Rows of a query, and the names of its columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def add_rows(path: Path, runs: Sequence[RunRows]) -> list[str]:
    """Puts runs in, of each all rows or none; says of each what happened: added, updated or unchanged.

    A run that was resumed since takes the place of its earlier rows; the same run again changes nothing.
    """
    with _open(path) as connection:
        return [_add(connection, rows) for rows in runs]


def _add(connection: "duckdb.DuckDBPyConnection", rows: RunRows) -> str:
    (run,) = rows["runs"]
    known = connection.execute("select content_sha256 from runs where run_id = ?", [run["run_id"]]).fetchone()
    if known == (run["content_sha256"],):
        return "unchanged"
    connection.execute("begin")
    for table in TABLES:
        if known:
            connection.execute(f'delete from "{table}" where run_id = ?', [run["run_id"]])
        _insert(connection, table, rows.get(table, ()))
    connection.execute("commit")
    return "updated" if known else "added"


def query(path: Path, statement: str, parameters: Mapping[str, object] | None = None, *, most_rows: int = -1) -> Answer:
    """One statement that only reads; what a user wrote may neither write nor open a file."""
    import duckdb

    values = dict(parameters or {})
    for text in (statement, *values.values()):
        _require_text(str(text), "The query cannot be answered")
    with _open(path, read_only=True) as connection:
        try:
            # Nothing but space or a comment has no answer, which DuckDB's types do not say.
            answer: duckdb.DuckDBPyConnection | None = connection.execute(statement, values)
            if answer is None:
                raise UsageError("The query is empty.", hint='Such as "select * from runs".')
            rows = answer.fetchall() if most_rows < 0 else answer.fetchmany(most_rows + 1)
            if 0 <= most_rows < len(rows):
                raise UsageError(f"The answer has more than {most_rows} rows.", hint="Add a LIMIT to the query.")
            return Answer(tuple(each[0] for each in answer.description or ()), rows)
        except duckdb.Error as error:
            first = str(error).strip().splitlines()[0]
            raise UsageError(
                f"The query cannot be answered: {first}", hint=f"Tables: {', '.join(TABLES)}. The file is only read."
            ) from error


def export_parquet(path: Path, folder: Path) -> list[Path]:
    """Every table as one Parquet file; files of another export are replaced."""
    from etprof.store.paths import make_folder

    make_folder(folder)
    files = [folder / f"{table}.parquet" for table in TABLES]
    with _open(path, read_only=True, files=True) as connection:
        for table, file in zip(TABLES, files, strict=True):
            # The name of a file is text of a user; COPY takes no parameters for it.
            target = str(file).replace("'", "''")
            connection.execute(f"copy \"{table}\" to '{target}' (format parquet)")
    return files


def _insert(connection: "duckdb.DuckDBPyConnection", table: str, rows: Sequence[Row]) -> None:
    """All rows by one statement: a statement for each takes a hundred times as long."""
    if not rows:
        return
    types = {name: kind.removesuffix(" PRIMARY KEY") for name, kind in TABLES[table].items()}
    # Every column in every row: a value of another type, or a column that is not known, is an error then.
    whole = [{**dict.fromkeys(types), **row} for row in rows]
    connection.execute(
        f'insert into "{table}" select row.* from (select unnest(from_json_strict(?::json, ?)) as row)',
        [json.dumps(whole), json.dumps([types])],
    )


def _require_text(text: str, problem: str) -> None:
    """DuckDB takes no bytes that are not text, which a name from a command line may hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{problem}: it has bytes that are not text.", hint="Use UTF-8.") from error


@contextmanager
def _open(path: Path, *, read_only: bool = False, files: bool = False) -> Iterator["duckdb.DuckDBPyConnection"]:
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise DependencyError(
            "The history needs duckdb and ruptures.", hint='Run: pip install "etprof[history]"'
        ) from error
    _require_text(str(path), f"{path} cannot hold a history")
    if read_only and not path.is_file():
        raise UsageError(f"There is no history {path}.", hint=f"Add a run to it: etprof history add RUN --file {path}")
    config = {} if files or not read_only else {"enable_external_access": "false", "lock_configuration": "true"}
    connection = _connect(path, read_only=read_only, config=config)
    try:
        _check_version(connection, path, read_only=read_only)
        yield connection
    except duckdb.IOException as error:
        raise StoreError(
            f"{path} cannot be written: {str(error).splitlines()[0]}", hint="Check free space and permissions."
        ) from error
    finally:
        connection.close()


def _connect(path: Path, *, read_only: bool, config: dict[str, str]) -> "duckdb.DuckDBPyConnection":
    """Waits while another process has the file: DuckDB lets one write, or several read."""
    import duckdb

    ends = time.monotonic() + _WAIT_S
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=dict(config))
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise _not_a_history(path, error) from error
            if time.monotonic() > ends:
                raise StoreError(
                    f"{path} is in use by another process.", hint="Wait until it ends, and try again."
                ) from error
            time.sleep(_PAUSE_S)
        except duckdb.Error as error:
            raise _not_a_history(path, error) from error


def _not_a_history(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"{path} is not a history: {str(error).splitlines()[0]}", hint="Name a file that `etprof history add` wrote."
    )


def _check_version(connection: "duckdb.DuckDBPyConnection", path: Path, *, read_only: bool) -> None:
    known = {name for (name,) in connection.execute("select table_name from information_schema.tables").fetchall()}
    if not known and not read_only:
        connection.execute("begin")
        for table, columns in TABLES.items():
            listed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            connection.execute(f'create table "{table}" ({listed})')
        connection.execute("create table history (schema_version INTEGER)")
        connection.execute("insert into history values (?)", [HISTORY_VERSION])
        connection.execute("commit")
        return
    if "history" not in known:
        raise StoreError(f"{path} is not a history of etprof.", hint="Name another file.")
    (version,) = connection.execute("select schema_version from history").fetchone() or (None,)
    if version != HISTORY_VERSION:
        raise StoreError(
            f"{path} has version {version}; this etprof knows {HISTORY_VERSION}.",
            hint="Use the etprof that wrote it, or add the runs to a new file.",
        )
