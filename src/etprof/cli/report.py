"""`etprof report`: the report of a finished run in the formats asked for, or several runs on one page."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_table, terminal_width
from etprof.cli.options import ByOption, DepthOption, WideOption, one_run_dir
from etprof.core.errors import EtprofError, UsageError
from etprof.core.units import NO_TIMES
from etprof.reports import FORMATS

if TYPE_CHECKING:
    from etprof.analysis.report import RunAnalysis
    from etprof.reports.text_table import TextTable

LATENCY = "latency"


def command(
    run_dirs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN_DIR", help="Folders with manifest.json.", show_default=False)
    ] = None,
    run_dir_option: Annotated[
        list[Path] | None, typer.Option("--run-dir", "--results", help="The same, as an option.", show_default=False)
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("--out", help="A folder, or a file whose suffix chooses the format; default: the run's folder."),
    ] = None,
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            help=f"Separated by commas: {', '.join(name for name, each in FORMATS.items() if each.file)}; console and "
            "latency are printed; statistics, tables and summary are the files beside the report. Default: all files "
            f"but {', '.join(name for name, each in FORMATS.items() if each.on_request)}.",
        ),
    ] = "",
    title: Annotated[str, typer.Option("--title", "--model-name", help="Title of the report.")] = "",
    mac_dir: Annotated[
        Path | None, typer.Option(help="The folder of a run on a Mac: one more RUN_DIR.", show_default=False)
    ] = None,
    android_dir: Annotated[
        Path | None, typer.Option(help="The folder of a run on Android: one more RUN_DIR.", show_default=False)
    ] = None,
    model: Annotated[Path | None, typer.Option(help="The .pte that was run; any other is refused.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the names of the files only.")] = False,
    wide: WideOption = False,
    by: ByOption = "",
    depth: DepthOption = 2,
    forecast: Annotated[
        Path | None, typer.Option(metavar="PROFILE", help="Add the forecast for the device of this profile.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave out user, host, serial numbers, paths and the command line.")
    ] = False,
) -> None:
    from etprof.app.forecasting import add_forecast
    from etprof.app.reporting import redact as redact_analysis
    from etprof.app.reporting import reserve

    named = {folder: system for folder, system in ((mac_dir, "Darwin"), (android_dir, "Android")) if folder}
    folders = [*(run_dirs or ()), *(run_dir_option or ()), *named]
    _doubt_systems(named)
    wanted = tuple(name.strip() for name in formats.split(",") if name.strip())
    if len(folders) > 1:
        only_for_one: dict[str, object] = {"--format": wanted, "--model": model, "--by": by, "--forecast": forecast}
        _combine(folders, target, title, redact=redact, only_for_one=only_for_one)
        return
    files = tuple(name for name in wanted if name != LATENCY)
    writes = bool(files) or not (wanted or by)
    folder = one_run_dir(folders[0] if folders else None)
    with reserve(folder, target, files) if writes else nullcontext():
        analysis = read_analysis(folder, target, files, title=title, model=model)
        analysis = add_forecast(analysis, forecast) if forecast else analysis
        analysis = redact_analysis(analysis) if redact else analysis
        tables = latency_tables(analysis, wide=wide) if LATENCY in wanted else []
        tables += rollup_tables(analysis, by, depth) if by else []
        if not quiet:
            if "console" in wanted:
                show_console(analysis, wide=wide)
            for table in tables:
                show_table(table, wide=wide)
        if writes:
            write_and_show(analysis, target, files)


def _doubt_systems(named: dict[Path, str]) -> None:
    """Says so where a run was not made on the system that its option names."""
    from etprof.store.session_file import load_session

    for folder, system in named.items():
        measured_on = load_session(one_run_dir(folder)).device.system
        if not measured_on.startswith(system):
            say(f"note: {folder} was measured on {measured_on}, not on {system.replace('Darwin', 'macOS')}.")


def read_analysis(
    folder: Path,
    target: Path | None = None,
    formats: tuple[str, ...] = (),
    *,
    title: str = "",
    model: Path | None = None,
) -> "RunAnalysis":
    """Analyses a run from its files; what cannot be written afterwards is refused before."""
    from etprof.app.reporting import analyze_loaded, check_model, choose_files
    from etprof.app.runs import load_run

    choose_files(target or folder, formats)
    run = load_run(folder)
    if model is not None:
        check_model(run, model)
    return analyze_loaded(run, title=title)


def show_console(analysis: "RunAnalysis", *, wide: bool = False) -> None:
    from etprof.reports import console

    show(console.render(analysis.report, None if wide else terminal_width()))


def write_and_show(analysis: "RunAnalysis", target: Path | None = None, formats: tuple[str, ...] = ()) -> None:
    """Writes what is asked for and says what was written.

    The reports are named; of the tables of each variant there may be hundreds.
    """
    from etprof.app.reporting import write_report

    paths = write_report(analysis, target, formats)
    show("report ok")
    reports = [path for path in paths if path.name in {each.file for each in FORMATS.values()}] or paths
    for path in reports:
        show(str(path))
    if others := len(paths) - len(reports):
        show(f"and {others} tables and statistics beside them")


def latency_tables(analysis: "RunAnalysis", *, wide: bool) -> "list[TextTable]":
    """Robust statistics, a column for each timed variant: cold, warm-up and steady apart, percentiles, outliers."""
    from etprof.cli.latency_table import build_latency_tables
    from etprof.reports.sentences import timing_mode

    report = analysis.report
    timed = [(variant.label, variant.latency) for variant in report.variants if variant.latency]
    if not timed:
        missing = "no timed iterations" if report.times_are_real else f"no latencies; {NO_TIMES}"
        raise EtprofError(f"{analysis.run.folder} holds {missing}.", hint="Run the plan in timing mode, on a real CPU.")
    return build_latency_tables(timed, timing_mode(report.variants), wide=wide)


def rollup_tables(analysis: "RunAnalysis", by: str, depth: int) -> "list[TextTable]":
    """Operators in groups, before and after where variants are compared."""
    from etprof.app.reporting import roll_up_report
    from etprof.reports.console import list_rollups
    from etprof.reports.rollup_tables import as_text_table

    tables = list(list_rollups(roll_up_report(analysis.report, by, depth), by, None))
    if not tables:
        raise EtprofError(f"{analysis.run.folder} holds no traced operators.", hint="Give the experiments traced runs.")
    return [as_text_table(table) for table in tables]


def _combine(
    folders: list[Path], target: Path | None, title: str, *, redact: bool, only_for_one: dict[str, object]
) -> None:
    from etprof.app.reporting import combine_runs

    for option in (name for name, value in only_for_one.items() if value):
        raise UsageError(f"{option} is for one run.", hint="The suffix of --out chooses the format of a combined page.")
    page = target or Path("combined_report.html")
    path = combine_runs([one_run_dir(folder) for folder in folders], page, title, redacted=redact)
    show("report ok")
    show(str(path))
