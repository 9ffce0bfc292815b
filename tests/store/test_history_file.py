"""The history's file: a run once, all of its rows or none, writers in turn, and queries that only read."""

import subprocess
import sys
from pathlib import Path

import pytest

from etprof.core.errors import StoreError, UsageError
from etprof.store.history_file import TABLES, add_rows, export_parquet, query

duckdb = pytest.importorskip("duckdb")


def rows(run_id: str = "r1", content: str = "1", operators: int = 2) -> dict[str, list[dict[str, object]]]:
    return {
        "runs": [{"run_id": run_id, "content_sha256": content, "model": "m", "started_at": "2026-01-01T00:00:00"}],
        "operators": [
            {"run_id": run_id, "variant": "on_t1", "operator": f"d0.{n}", "name": "Conv", "mean_ms": 0.5, "macs": None}
            for n in range(operators)
        ],
    }


def count(file: Path, table: str) -> int:
    return int(query(file, f"select count(*) from {table}").rows[0][0])


def test_the_same_run_twice_changes_nothing_and_a_resumed_one_takes_its_place(tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    assert add_rows(file, [rows(), rows()]) == ["added", "unchanged"]
    assert add_rows(file, [rows(content="2", operators=3)]) == ["updated"]
    assert (count(file, "runs"), count(file, "operators")) == (1, 3)


def test_a_run_that_cannot_be_added_leaves_no_rows(tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    add_rows(file, [rows()])
    broken = rows("r2")
    broken["operators"][0]["mean_ms"] = "not a number"
    with pytest.raises(duckdb.Error):
        add_rows(file, [broken])
    assert (count(file, "runs"), count(file, "operators")) == (1, 2)


@pytest.mark.parametrize(
    "statement",
    [
        "drop table runs",
        "insert into findings values ('a', 'b', 'c', 'd')",
        "copy runs to '{folder}/stolen.csv'",
        "select * from read_csv('{folder}/secret.csv')",
        "attach '{folder}/other.duckdb'",
        "set enable_external_access = true",
        "install httpfs",
        "select 1; drop table runs",
        "not sql",
    ],
)
def test_a_query_neither_writes_nor_opens_files(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "h.duckdb"
    add_rows(file, [rows()])
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    before = file.read_bytes()
    with pytest.raises(UsageError) as error:
        query(file, statement.format(folder=tmp_path))
    assert "Tables: runs" in error.value.hint
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h.duckdb", "secret.csv"]


def test_writers_take_turns(tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    script = (
        "import sys\nfrom pathlib import Path\nfrom test_history_file import rows\n"
        "from etprof.store.history_file import add_rows\n"
        "for n in range(5): add_rows(Path(sys.argv[1]), [rows(f'{sys.argv[2]}-{n}')])"
    )
    command = [sys.executable, "-c", script, str(file)]
    writers = [subprocess.Popen([*command, name], cwd=Path(__file__).parent) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert (count(file, "runs"), count(file, "operators")) == (15, 30)


def test_a_file_of_another_kind_or_version_is_refused_and_kept(tmp_path: Path) -> None:
    text = tmp_path / "notes.duckdb"
    text.write_text("no database")
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("create table mine (a int)")
    newer = tmp_path / "newer.duckdb"
    add_rows(newer, [rows()])
    with duckdb.connect(str(newer)) as connection:
        connection.execute("update history set schema_version = 99")
    for file, what in ((text, "not a history"), (other, "not a history"), (newer, "version 99")):
        before = file.read_bytes()
        with pytest.raises(StoreError, match=what):
            add_rows(file, [rows("r2")])
        assert file.read_bytes() == before
    with pytest.raises(UsageError, match="There is no history"):
        query(tmp_path / "none.duckdb", "select 1")


def test_every_table_is_exported_as_parquet(tmp_path: Path) -> None:
    file = tmp_path / "h.duckdb"
    add_rows(file, [rows()])
    files = export_parquet(file, tmp_path / "it's here")
    assert [path.stem for path in files] == list(TABLES)
    ((counted,),) = duckdb.sql("select count(*) from read_parquet(?)", params=[str(files[3])]).fetchall()
    assert counted == 2


def test_every_table_and_column_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "history.md").read_text(encoding="utf-8")
    lines = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert list(lines) == list(TABLES)
    for table, columns in TABLES.items():
        assert lines[table].split(" | ")[-1].rstrip(" |").replace("`", "").split(", ") == list(columns)


@pytest.mark.parametrize("statement", ["", " ", "-- nothing"])
def test_an_empty_query_is_refused(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "h.duckdb"
    add_rows(file, [rows()])
    with pytest.raises(UsageError, match="The query is empty"):
        query(file, statement)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not text"):
        add_rows(tmp_path / "h\udce8.duckdb", [rows()])
    add_rows(tmp_path / "h.duckdb", [rows()])
    with pytest.raises(UsageError, match="not text"):
        query(tmp_path / "h.duckdb", "select '\udce8'")
    assert [path.name for path in tmp_path.iterdir()] == ["h.duckdb"]
