"""`etprof trace latency`: how long whole inferences took in single traces, and against a baseline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_sentence, show_table
from etprof.cli.options import WideOption
from etprof.cli.trace_options import CompareOption, TimelineOption, TracesArgument, read_sides
from etprof.core.units import format_ratio

if TYPE_CHECKING:
    from etprof.app.traces import TraceSet


def latency(
    traces: TracesArgument = None,
    timeline_csv: TimelineOption = None,
    compare: CompareOption = None,
    name1: Annotated[str, typer.Option("--name1", "--name", help="Name of TRACE; default: its file.")] = "",
    name2: Annotated[str, typer.Option("--name2", help="Name of the baseline; default: its file.")] = "",
    output_dir: Annotated[Path | None, typer.Option(help="Write the statistics there as JSON too.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every statistic at any width.")] = False,
    wide: WideOption = False,
) -> None:
    """Show how long the inferences of a trace took; with --compare, against a baseline.

    The tracer was running. Latency without it is what a run measures: `etprof report RUN_DIR --format latency`.
    """
    from etprof.app.trace_latency import summarize_traced, write_traced_statistics
    from etprof.cli.latency_table import build_latency_tables

    pairs = read_sides([*(timeline_csv or ()), *(traces or ())], compare or (), None, None)
    for given, baseline in pairs:
        sides = [(name1 or given.stem, given.require_times())]
        if baseline:
            sides.append((name2 or baseline.stem, baseline))
        columns = [(name, summarize_traced(each)) for name, each in sides]
        for table in build_latency_tables(columns, "traced", wide=wide or verbose):
            show_table(table, wide=wide or verbose)
        if baseline:
            show_sentence(_describe_comparison(baseline, given, f"{sides[0][0]} against {sides[1][0]}"))
        for _, each in sides if output_dir else ():
            show(str(write_traced_statistics(output_dir or Path(), each)))
    say("note: these inferences were traced; `etprof report RUN_DIR --format latency` has the untraced ones.")


def _describe_comparison(baseline: "TraceSet", candidate: "TraceSet", who: str) -> str:
    from etprof.app.trace_latency import compare_traced, summarize_traced
    from etprof.reports.sentences import speedup_text

    comparison = compare_traced(baseline, candidate)
    ratio = format_ratio(summarize_traced(baseline).median_ms / summarize_traced(candidate).median_ms)
    speedup = speedup_text(comparison) if comparison.speedup else f"{ratio} by the medians alone"
    return f"{who}: {comparison.verdict.value}, speed-up {speedup}; {comparison.reason}."
