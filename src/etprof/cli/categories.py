"""`etprof categories`: which category operators belong to, and how much time each class takes."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from etprof.cli.console import err, out
from etprof.cli.operator_tables import accounting_table, build_table
from etprof.cli.trace_input import RulesOption, TraceInput, TracesArgument, read_input
from etprof.core.units import format_ms, format_percent

if TYPE_CHECKING:
    from etprof.analysis.categories import Rule
    from etprof.core.report import OperatorRow


def command(
    traces: TracesArgument = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Say where this operator name belongs.", show_default=False)
    ] = None,
    list_rules: Annotated[bool, typer.Option("--list-rules", help="Print the table of rules, in their order.")] = False,
    rules: RulesOption = None,
) -> None:
    """Put the operators of a trace into categories and finer classes, and list names that no rule knows."""
    from etprof.analysis.categories import categorize
    from etprof.analysis.rules_file import load_rules

    table = load_rules(rules)
    for each in name or ():
        category = categorize(each, table)
        out.print(f"{each}: {category.name} / {category.subcategory}", markup=False)
    if list_rules:
        _print_rules(table)
    if traces or not (name or list_rules):
        _print_classes(read_input(traces or (), rules).require_times())


def _print_rules(rules: tuple["Rule", ...]) -> None:
    table = build_table("The first rule that matches decides", ("pattern", "category", "class"), ())
    for rule in rules:
        table.add_row(escape(rule.pattern), escape(rule.category), escape(rule.subcategory))
    out.print(table)


def _print_classes(given: TraceInput) -> None:
    from etprof.analysis.operators import build_operators, find_unmatched_names

    out.print(accounting_table(given.traces, given.rules))
    classes: dict[tuple[str, str], list[OperatorRow]] = {}
    for row in build_operators(given.traces, given.rules):
        classes.setdefault((row.category, row.subcategory), []).append(row)
    table = build_table("Finer classes", ("category", "class"), ("operators", "per inference", "share"))
    for names, rows in sorted(classes.items(), key=lambda item: -sum(row.share for row in item[1])):
        time, share = sum(row.mean_ms for row in rows), sum(row.share for row in rows)
        table.add_row(*(escape(name) for name in names), str(len(rows)), format_ms(time), format_percent(share))
    out.print(table)
    for unmatched in find_unmatched_names(given.traces, given.rules):
        err.print(f"note: no rule knows {unmatched!r}; it counts as Other. Give it one with --rules.", markup=False)
