"""`etprof check`: whether a finished run is as good as a known-good one, for use in CI."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show
from etprof.cli.options import one_run_dir

INCONCLUSIVE_EXIT_CODE = 3


def command(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder of the run that is checked.")],
    against: Annotated[
        Path,
        typer.Option(metavar="KNOWN_GOOD", help="Folder of the known-good run; its manifest and metrics are enough."),
    ],
    tolerance: Annotated[
        float, typer.Option(min=0.0, metavar="PCT", help="How much slower a variant may be, in percent.")
    ] = 5.0,
    output_tolerance: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SHARE",
            help="How far outputs may differ, as a share of the largest value; default: by the model's precision. "
            "States that another precision is accepted.",
            show_default=False,
        ),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the summary there too; it is always printed.")
    ] = None,
) -> None:
    from etprof.app.gate import check_run
    from etprof.core.regression import Outcome
    from etprof.reports import check_summary
    from etprof.reports.plain_text import printable
    from etprof.store.json_file import write_text

    check = check_run(one_run_dir(run_dir, None), one_run_dir(against, None), tolerance / 100, output_tolerance)
    text = check_summary.render(check)
    for line in text.splitlines():
        show(printable(line))
    if summary is not None:
        write_text(summary, text)
    codes = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: INCONCLUSIVE_EXIT_CODE}
    raise typer.Exit(codes[check.outcome])
