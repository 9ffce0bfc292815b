"""`etprof report`: the report of a finished run, in the formats asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import out
from etprof.cli.run_dir import RunDirArgument, RunDirOption, one_run_dir
from etprof.core.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from etprof.core.report import Report


def command(
    run_dir: RunDirArgument = None,
    run_dir_option: RunDirOption = None,
    target: Annotated[
        Path | None, typer.Option("--out", help="A folder, or a file whose ending tells the format; default: RUN_DIR.")
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", help="Separated by commas: md, html, json, csv, trace, console.")
    ] = "",
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
) -> None:
    """Write the report of a run from its files."""
    folder = one_run_dir(run_dir, run_dir_option)
    wanted = tuple(name.strip() for name in formats.split(",") if name.strip())
    write_report(folder, formats=wanted, title=title, show="console" in wanted, target=target)


def write_report(
    folder: Path,
    *,
    formats: tuple[str, ...] = (),
    title: str = "",
    show: bool = True,
    target: Path | None = None,
) -> "Report":
    """Analyses a run and writes its report in the given formats, or in every one that is a file."""
    from etprof.pipeline import analyze
    from etprof.report_files import write_format
    from etprof.reports import FORMATS

    paths = choose_files(target or folder, formats)
    report = analyze(folder, title=title)
    for name, path in paths.items():
        write_format(report, name, path)
    if show:
        out.print(FORMATS["console"](report), markup=False)
    out.print("report ok")
    for path in paths.values():
        out.print(f"{path}", markup=False)
    return report


def choose_files(target: Path, formats: Sequence[str]) -> dict[str, Path]:
    """The file of each format, before any work is done: `target` is a folder, or the one file that is wanted."""
    from etprof.reports import FORMATS
    from etprof.store.layout import REPORT_FILES

    for name in formats:
        if name not in FORMATS:
            raise UnknownNameError("report format", name, FORMATS, hint=f"Known formats: {', '.join(FORMATS)}.")
    files = [name for name in formats or REPORT_FILES if name in REPORT_FILES]
    suffix = target.suffix.lower()
    if target.is_dir() or not suffix:
        return {name: target / REPORT_FILES[name] for name in files}
    fitting = [name for name in files if Path(REPORT_FILES[name]).suffix == suffix]
    if not fitting or (formats and len(files) > 1):
        raise UsageError(
            f"{target} cannot hold {', '.join(formats) or 'a report'}.",
            hint="A file holds one format, told by its ending: .md, .html, .json or .csv. Or give a folder.",
        )
    return {fitting[0]: target}
