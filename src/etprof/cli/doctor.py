"""`etprof doctor`: whether this machine can profile, line by line."""

from typing import Annotated

import typer

from etprof.cli.console import out


def command(
    as_json: Annotated[bool, typer.Option("--json", help="The same for machines.")] = False,
) -> None:
    """Say what this machine has, and what it lacks."""
    from etprof.doctor import can_run, run_checks

    checks = run_checks()
    able = can_run(checks)
    if as_json:
        import json

        lines = [
            {"name": c.name, "status": c.status.value, "found": c.found, "advice": c.advice, "required": c.required}
            for c in checks
        ]
        out.print(json.dumps({"schema_version": 1, "can_run": able, "checks": lines}, indent=2), markup=False)
    else:
        width = max(len(c.name) for c in checks)
        for check in checks:
            line = f"{check.status.value:8}{check.name:{width + 2}}{check.found}"
            out.print(f"{line}. {check.advice}" if check.advice else line, markup=False)
        out.print(
            "This machine can export, run and report." if able else "The main job cannot run here: see `missing`."
        )
    if not able:
        raise typer.Exit(1)
