"""Writes the page of the documentation that comes from the code: `make reference`. A test holds it to the code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from etprof.cli.main import COMMANDS, build_app

ROOT = Path(__file__).parents[1]
CLI_PAGE = ROOT / "docs/reference/cli.md"
_SCRIPTS = ROOT / "model_profiling"
_CALL = re.compile(r"main\(\[(?P<words>[^*\]]*)")
_OPENING = """\
# Command line

Every command, in the groups that `etprof --help` shows. `make reference` writes this page from the code.
[Errors and exit codes](errors.md) lists how a command can end.
"""
_COMPATIBILITY = """\
## Compatibility scripts

Each script of `model_profiling` calls a command and takes the command's arguments and options.

| Script | Command |
| --- | --- |"""


def main() -> None:
    CLI_PAGE.write_text(render_cli(), encoding="utf-8")


def render_cli() -> str:
    root = build_app()
    context = root.context_class(root, info_name="etprof")
    lines = [_OPENING, *_render_command(root, context)]
    for group, names in COMMANDS.items():
        lines.append(f"## {group}\n")
        for name in names:
            lines += _render_tree(root.get_command(context, name), context, name)
    scripts = (f"| `model_profiling/{path}` | `etprof {' '.join(words)}` |" for path, words in read_scripts().items())
    return "\n".join([*lines, _COMPATIBILITY, *scripts, ""])


def read_scripts() -> dict[str, list[str]]:
    """The words of the command line that each Python script of model_profiling begins with."""
    paths = sorted(path for folder in ("export", "scripts", "tools") for path in (_SCRIPTS / folder).glob("*.py"))
    calls = {path: _CALL.search(path.read_text(encoding="utf-8")) for path in paths}
    return {
        path.relative_to(_SCRIPTS).as_posix(): re.findall(r'"([^"]+)"', call["words"])
        for path, call in calls.items()
        if call
    }


def _render_tree(command: Any, parent: Any, name: str) -> Iterator[str]:
    """A command, then its subcommands."""
    context = parent.__class__(command, info_name=name, parent=parent)
    path = context.command_path
    yield f"{'#' * (len(path.split()) + 1)} {path}\n"
    yield from _render_command(command, context)
    for inner, each in getattr(command, "commands", {}).items():
        yield from _render_tree(each, context, inner)


def _render_command(command: Any, context: Any) -> Iterator[str]:
    yield f"{' '.join(command.help.split())}\n"
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    if any(records):
        yield "| Argument or option | Meaning |\n| --- | --- |"
        yield from (f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in records if record)
        yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
