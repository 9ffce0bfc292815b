"""`etprof check`: whether a finished run is as good as a known-good one, for use in CI."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show
from etprof.cli.options import one_run_dir, refuse_together
from etprof.core.errors import UsageError

INCONCLUSIVE_EXIT_CODE = 3


def command(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Folder of the run that is checked.")],
    against: Annotated[
        Path | None,
        typer.Option(metavar="KNOWN_GOOD", help="Folder of the known-good run; its manifest and metrics are enough."),
    ] = None,
    against_history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Instead: the recent stable runs of the same model, variant and device in a history."
        ),
    ] = None,
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
    from etprof.app.history import check_against_history
    from etprof.core.regression import Outcome
    from etprof.reports import check_summary
    from etprof.reports.plain_text import printable
    from etprof.store.json_file import write_text

    refuse_together(against=against, against_history=against_history)
    refuse_together("A history keeps no outputs.", output_tolerance=output_tolerance, against_history=against_history)
    if against_history:
        check = check_against_history(one_run_dir(run_dir), against_history, tolerance / 100)
    elif against:
        check = check_run(one_run_dir(run_dir), one_run_dir(against), tolerance / 100, output_tolerance)
    else:
        raise UsageError("A check needs a known-good run.", hint="Give --against KNOWN_GOOD or --against-history FILE.")
    text = check_summary.render(check)
    for line in text.splitlines():
        show(printable(line))
    if summary is not None:
        write_text(summary, text)
    codes = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: INCONCLUSIVE_EXIT_CODE}
    raise typer.Exit(codes[check.outcome])
