"""`etprof compare`: two finished runs side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show, terminal_width
from etprof.cli.options import one_run_dir
from etprof.core.errors import UsageError


def command(
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="Folder of the run to compare with.")],
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="Folder of the run that is compared.")],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="OLD=NEW",
            help="Compare variant OLD of BASELINE with NEW of CANDIDATE; each is an experiment, or one of its thread "
            "counts such as on_t2. May be given again.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", help="Write the comparison there as Markdown too.")] = None,
    charts: Annotated[bool, typer.Option("--charts", help="With --out: put its charts beside it.")] = False,
) -> None:
    from etprof.app.gate import compare
    from etprof.app.reporting import write_page
    from etprof.reports import console

    report = compare(one_run_dir(baseline), one_run_dir(candidate), names=_parse_names(names or ()))
    show(console.render(report, terminal_width()))
    if output is not None:
        show(str(write_page(report, output, with_charts=charts)))


def _parse_names(texts: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for text in texts:
        old, _, new = text.partition("=")
        if not old or not new or old in names:
            raise UsageError(f"--map {text} is not OLD=NEW, each OLD once.", hint="Such as --map sme2_on=on.")
        names[old] = new
    return names
