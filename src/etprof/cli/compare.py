"""`etprof compare`: two finished runs side by side."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show, terminal_width


def command(
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="Folder of the run to compare with.")],
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="Folder of the run that is compared.")],
    output: Annotated[Path | None, typer.Option("--out", help="Write the comparison there as Markdown too.")] = None,
) -> None:
    from etprof.app.gate import compare
    from etprof.app.reporting import write_format
    from etprof.reports import console

    report = compare(baseline, candidate)
    show(console.render(report, terminal_width()))
    if output is not None:
        write_format(report, "md", output)
        show(str(output))
