"""Writes the pages of the documentation that come from the code and its tests: `make reference`. Tests check them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import statement_page
from etprof.app.advice import list_rules
from etprof.cli.main import COMMANDS, build_app
from etprof.reports.rule_text import render_page

ROOT = Path(__file__).parents[1]
CLI_PAGE = ROOT / "docs/reference/cli.md"
ADVICE_PAGE = ROOT / "docs/reference/advice.md"
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


_ADVICE_OPENING = """\
# Rules of advice

The next steps of a report are what these rules found, the largest bound first. `etprof explain MODEL.pte` applies them
to a model that was not run, with its share of multiply-accumulates or of bytes moved in place of a time.
`etprof explain --rule ID` prints one rule. `make reference` writes this page from the code.

A bound is the time of what would be removed: "at most" that much is saved. Savings of several steps overlap and do not
add up. No step is smaller than 1 % of an inference, than the noise of its variant, or than what the clock resolves. An
operator that a specific rule is about is left out by the general ones. [Measured advice](advice-measured.md) has the
gain of each change that can be measured.

A plan switches rules off by their ids; an id that does not exist is refused:

```json
{"analysis": {"advice_off": ["softmax-share", "depthwise-share"]}}
```

"""


def main() -> None:
    CLI_PAGE.write_text(render_cli(), encoding="utf-8")
    ADVICE_PAGE.write_text(render_advice(), encoding="utf-8")
    statements = statement_page.render_statements(statement_page.read_statements())
    statement_page.PAGE.write_text(statements, encoding="utf-8")


def render_advice() -> str:
    return _ADVICE_OPENING + render_page(list_rules())


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
