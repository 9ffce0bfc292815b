"""`etprof doctor`: whether this machine can profile, line by line."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show, show_json
from etprof.cli.options import JsonOption


def command(
    as_json: JsonOption = False,
    model: Annotated[Path | None, typer.Option(help="An exported model (.pte) that has to be there, too.")] = None,
) -> None:
    from etprof.app.doctor import can_run, check_model, run_checks

    checks = [*run_checks(), *(check_model(model) if model else ())]
    able = can_run(checks)
    if as_json:
        lines = [
            {"name": c.name, "status": c.status.value, "found": c.found, "advice": c.advice, "required": c.required}
            for c in checks
        ]
        show_json({"schema_version": 1, "can_run": able, "checks": lines})
    else:
        width = max(len(c.name) for c in checks)
        for check in checks:
            line = f"{check.status.value:8}{check.name:{width + 2}}{check.found}"
            show(f"{line}. {check.advice}" if check.advice else line)
        show("This machine can export, run and report." if able else "The main job cannot run here: see `missing`.")
    if not able:
        raise typer.Exit(1)
