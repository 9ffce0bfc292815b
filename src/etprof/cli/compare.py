"""`etprof compare`: two finished runs side by side."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out


def command(
    baseline: Annotated[Path, typer.Argument(help="Folder of the run to compare with.")],
    candidate: Annotated[Path, typer.Argument(help="Folder of the run that is judged.")],
    output: Annotated[Path | None, typer.Option("--out", help="Write the comparison there as Markdown too.")] = None,
) -> None:
    """Compare two finished runs: same statistics, and a warning for everything that differs."""
    from etprof.pipeline import compare
    from etprof.report_files import write_format
    from etprof.reports import FORMATS

    report = compare(baseline, candidate)
    out.print(FORMATS["console"](report), markup=False)
    if output is not None:
        write_format(report, "md", output)
        out.print(f"{output}", markup=False)
