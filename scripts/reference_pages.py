"""Writes the page of the documentation that comes from the code: `make reference`. A test holds it to the code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from etprof.cli.main import COMMANDS, build_app

ROOT = Path(__file__).parents[1]
CLI_PAGE = ROOT / "docs/reference/cli.md"
_PORCH = ROOT / "model_profiling"
_DOOR = re.compile(r"main\(\[(?P<words>[^*\]]*)")
_OPENING = """\
# Command line

Every command, in the order a user meets them, as `--help` tells it. `make reference` writes this page from the code.
[Errors and exit codes](errors.md) says how a command can end.
"""
_DOORS = """\
## The scripts of model_profiling

Each is a door to a command and takes the command's arguments and options.

| Script | Command |
| --- | --- |"""


def main() -> None:
    CLI_PAGE.write_text(render_cli(), encoding="utf-8")


def render_cli() -> str:
    app = get_command(build_app())
    doors = [f"| `model_profiling/{door}` | `etprof {' '.join(words)}` |" for door, words in read_doors().items()]
    return "\n".join([_OPENING, *_render_command(app, app.context_class(app, info_name="etprof")), _DOORS, *doors, ""])


def read_doors() -> dict[str, list[str]]:
    """The words of the command line that each Python script of the porch begins with."""
    scripts = sorted(path for room in ("export", "scripts", "tools") for path in (_PORCH / room).glob("*.py"))
    found = {path: _DOOR.search(path.read_text(encoding="utf-8")) for path in scripts}
    return {
        path.relative_to(_PORCH).as_posix(): re.findall(r'"([^"]+)"', door["words"])
        for path, door in found.items()
        if door
    }


def _render_command(command: Any, context: Any) -> Iterator[str]:
    path = context.command_path
    if context.parent is not None:
        yield f"{'#' * len(path.split())} {path}\n"
    yield f"{' '.join(command.help.split())}\n"
    yield f"```text\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    if any(records):
        yield "| Argument or option | Meaning |\n| --- | --- |"
        yield from (f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in records if record)
        yield ""
    inner = getattr(command, "commands", {})
    for name in sorted(inner, key=list(COMMANDS).index) if context.parent is None else inner:
        yield from _render_command(inner[name], context.__class__(inner[name], info_name=name, parent=context))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
