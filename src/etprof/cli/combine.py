"""`etprof combine`: several runs (platforms, data types, models) on one page."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.core.errors import UsageError


def command(
    run_dirs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Folders with manifest.json.")],
    target: Annotated[Path, typer.Option("--out", help="The page to write: .html, .md or .json.")] = Path(
        "combined_report.html"
    ),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
) -> None:
    """Put the reports of several runs on one page."""
    from etprof.pipeline import analyze
    from etprof.reports.combined import PAGES, CombinedReport, label_runs
    from etprof.store.json_file import write_text

    if target.suffix.lower() not in PAGES:
        raise UsageError(f"{target} cannot be written.", hint=f"Its ending tells the format: {', '.join(PAGES)}.")
    if len({folder.resolve() for folder in run_dirs}) < len(run_dirs):
        raise UsageError("A run was given twice.", hint="Name each folder once.")
    labels = label_runs([str(folder.resolve()) for folder in run_dirs])
    reports = tuple(zip(labels, (analyze(folder) for folder in run_dirs), strict=True))
    page = CombinedReport(title or f"{len(reports)} runs side by side", reports)
    write_text(target, PAGES[target.suffix.lower()](page))
    out.print("report ok")
    out.print(f"{target}", markup=False)
