"""`etprof latency`: the robust statistics of a run's latencies, arm by arm."""

from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.run_dir import RunDirArgument, RunDirOption, one_run_dir
from etprof.core.errors import EtprofError
from etprof.core.run import NO_TIMES
from etprof.core.units import format_ms, format_percent


def command(
    run_dir: RunDirArgument = None,
    run_dir_option: RunDirOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and print no table.")] = False,
) -> None:
    """Summarise latencies: cold, warm-up and steady apart, percentiles, outliers; writes *_robust_stats.json."""
    from rich.table import Table

    from etprof.pipeline import analyze, write_run_files
    from etprof.reports.sentences import timing_mode

    folder = one_run_dir(run_dir, run_dir_option)
    report = analyze(folder)
    timed = [(arm, arm.latency) for arm in report.arms if arm.latency]
    if not timed:
        missing = "no timed iterations" if report.times_are_real else f"no latencies; {NO_TIMES}"
        raise EtprofError(f"{folder} holds {missing}.", hint="Run the plan in timing mode, on a real CPU.")
    write_run_files(folder, report)
    if quiet:
        return
    table = Table(f"steady, {timing_mode(report.arms)}")
    for arm, _ in timed:
        table.add_column(arm.label, justify="right")
    rows = ("median", "mad", "mean", "trimmed_mean", "std", "min", "p5", "p25", "p75", "p90", "p95", "p99", "max")
    for row in rows:
        table.add_row(row.replace("_", " "), *(format_ms(getattr(latency, f"{row}_ms")) for _, latency in timed))
    table.add_row("CV", *(format_percent(latency.cv) for _, latency in timed))
    table.add_row("outliers (mild, severe)", *(f"{x.outliers_mild}, {x.outliers_severe}" for _, x in timed))
    table.add_row("iterations in blocks", *(f"{x.samples} in {x.blocks}" for _, x in timed))
    table.add_section()
    for row in ("cold", "warmup", "load"):
        values = (getattr(latency, f"{row}_ms") for _, latency in timed)
        table.add_row(row, *("unknown" if value is None else format_ms(value) for value in values))
    out.print(table)
