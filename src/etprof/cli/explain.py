"""`etprof explain`: which kernels the layers of a model take on Arm CPUs, why not better ones, and what to do."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_sentence, terminal_width
from etprof.cli.options import WideOption
from etprof.core.errors import UsageError

if TYPE_CHECKING:
    from etprof.app.explaining import Explained

_STEPS = 5


def command(
    target: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL|RUN", help="A .pte, whoever exported it, or the folder of a run."),
    ] = None,
    method: Annotated[str, typer.Option(help="Only this method of a program that has several.")] = "",
    rule: Annotated[str, typer.Option(metavar="ID", help="Tell one rule of advice in full.")] = "",
    rules: Annotated[bool, typer.Option("--rules", help="List every rule of advice.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write it there instead: .json, .csv, or text of any other suffix.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a row for each node as CSV.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show layers that multiply no matrices too.")] = False,
    wide: WideOption = False,
) -> None:
    from etprof.app.explaining import explain_target, write_explanation

    if rules or rule:
        _show_rules(rule)
    if target is None:
        if not (rules or rule):
            raise UsageError("Name a model or a run to explain.", hint="For example: etprof explain model.pte")
        return
    explained = explain_target(target, method)
    if out:
        write_explanation(explained, out)
        show(str(out))
    elif as_json or as_csv:
        show((explained.render_json() if as_json else explained.render_csv()).rstrip("\n"))
    else:
        show(explained.render(None if wide else terminal_width(), all_groups=verbose).rstrip("\n"))
        _show_advice(explained, rule)


def _show_advice(explained: "Explained", rule: str) -> None:
    lines = explained.list_advice(rule)
    shown = lines if rule else lines[:_STEPS]
    for number, line in enumerate(shown, start=1):
        show("")
        show_sentence(f"advice {number}: {line}", indent="  ")
    if len(lines) > len(shown):
        say(f"note: {len(lines) - len(shown)} more; --json has all of them.")


def _show_rules(wanted: str) -> None:
    from etprof.app.advice import describe_rule, describe_rules

    show((describe_rule(wanted) if wanted else describe_rules()).rstrip("\n"))
