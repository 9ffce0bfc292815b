"""`etprof history`: many runs in one file, queried and followed over time."""

import os
from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import say, show, show_json, show_sentence, show_table, terminal_width
from etprof.cli.options import CsvOption, JsonOption, WideOption, one_run_dir, refuse_together
from etprof.core.units import format_count

app = typer.Typer(no_args_is_help=True)

DEFAULT_FILE = Path("etprof-history.duckdb")
FileOption = Annotated[Path, typer.Option("--file", help="The history: one DuckDB file.")]


@app.command("add")
def add(
    run_dirs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.")],
    file: FileOption = DEFAULT_FILE,
    commit: Annotated[
        str, typer.Option(help="Of your model or code; default: GITHUB_SHA or CI_COMMIT_SHA, where a CI sets one.")
    ] = "",
) -> None:
    """Put runs into a history; the same run twice changes nothing."""
    from etprof.app.history import add_runs

    folders = [one_run_dir(folder) for folder in run_dirs]
    outcomes = add_runs(file, folders, commit=commit or ci_commit(), told=lambda run, what: say(f"{run}: {what}"))
    changed = sum(what != "unchanged" for what in outcomes.values())
    show(f"{file}: {format_count(changed, 'run')} of {len(outcomes)} added or updated.")


def ci_commit() -> str:
    return os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA") or ""


@app.command("list")
def list_all(
    model: Annotated[str, typer.Option(help="Only runs of this model.")] = "",
    file: FileOption = DEFAULT_FILE,
    wide: WideOption = False,
    csv: CsvOption = False,
    json: JsonOption = False,
) -> None:
    """List the runs of a history, the oldest first."""
    from etprof.app.history import list_runs

    # The identity of a run and its folder are for scripts: they leave a narrow terminal first.
    _show_answer(*list_runs(file, model), wide=wide, csv=csv, json=json, leaving=("run_id", "commit", "folder"))


@app.command("sql")
def sql(
    statement: Annotated[str, typer.Argument(metavar="QUERY", help='Such as "select * from runs".')],
    file: FileOption = DEFAULT_FILE,
    wide: WideOption = False,
    csv: CsvOption = False,
    json: JsonOption = False,
) -> None:
    """Answer an SQL query that only reads. Tables: runs, variants, blocks, operators, categories, findings."""
    from etprof.store.history_file import query

    _show_answer(*query(file, statement), wide=wide, csv=csv, json=json)


@app.command("trend")
def trend(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model's file without .pte.")],
    variant: Annotated[str, typer.Option(help="Only this variant, such as on_t1.")] = "",
    by: Annotated[str, typer.Option(help="Take runs together: by version (ExecuTorch), commit or device.")] = "",
    file: FileOption = DEFAULT_FILE,
    json: JsonOption = False,
) -> None:
    """Show how a model's latency developed, and from which run on its level changed."""
    from dataclasses import asdict

    from etprof.app.history import build_trends, compare_on_devices
    from etprof.reports.history_page import build_group_table, draw_line, step_sentence, trend_sentence

    trends = build_trends(file, model, variant=variant, by=by)
    devices = compare_on_devices(trends) if by == "device" else {}
    if json:
        compared = [{"variant": of, "devices": [asdict(g) for g in groups]} for (_, of), groups in devices.items()]
        show_json({"trends": [asdict(each) for each in trends], "devices": compared})
        return
    for each in trends:
        show(f"{each.model}, {each.variant}, {each.device}")
        show(draw_line(each, terminal_width()))
        show_sentence(trend_sentence(each))
        for step in each.steps:
            show_sentence(f"- {step_sentence(each, step)}", "  ")
        if each.groups:
            show_table(build_group_table("", each.groups, by))
        show("")
    for (_, of), groups in devices.items():
        show_table(build_group_table(f"{of}: the present level of each device", groups, "device"))


@app.command("export")
def export(
    parquet: Annotated[Path, typer.Option(metavar="DIR", help="Folder for one Parquet file of each table.")],
    file: FileOption = DEFAULT_FILE,
) -> None:
    """Write every table as a Parquet file, for Polars, pandas or Spark."""
    from etprof.store.history_file import export_parquet

    for path in export_parquet(file, parquet):
        show(str(path))


@app.command("report")
def report(
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Where to write the page.")],
    file: FileOption = DEFAULT_FILE,
) -> None:
    """Write the trends of all models and devices as one HTML page."""
    from etprof.app.history import write_history_page

    show(str(write_history_page(file, out)))


def _show_answer(
    columns: tuple[str, ...], rows: list[tuple[object, ...]], *, wide: bool, csv: bool, json: bool,
    leaving: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """As a table, in parts where it is too wide for the terminal, unless some of its columns may leave."""
    from etprof.reports.text_table import Column, TextTable, render_table, split_table
    from etprof.store.timeline_files import render_records

    refuse_together(csv=csv, json=json)
    if csv or json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        if json:
            show_json([{name: _plain(value) for name, value in record.items()} for record in records])
        else:
            show(render_records(columns, records).rstrip("\n"))
        return
    cells = [[_text(row[number]) for row in rows] for number in range(len(columns))]
    importance = {name: number for number, name in enumerate(reversed(leaving), 2)}
    table = TextTable(
        "",
        [
            Column(name, column, importance.get(name, 1 if leaving and number > 2 else 0))
            for number, (name, column) in enumerate(zip(columns, cells, strict=True))
        ],
    )
    width = None if wide else terminal_width()
    for part in [table] if leaving else split_table(table, width):
        show(render_table(part, width if leaving else None).rstrip("\n"))


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _text(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
