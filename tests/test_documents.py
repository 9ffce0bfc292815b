"""Documents are tests: the program understands every command line in them, and every link leads somewhere."""

import re
import shlex
from contextlib import suppress
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from etprof.cli.main import build_app

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?:bash|sh|console)\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def command_lines(document: Path) -> list[list[str]]:
    lines = []
    for block in FENCE.findall(document.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words and words[0] == "etprof":
                lines.append(words[1:])
    return lines


def parse(words: list[str]) -> None:
    """Parses a command line with the real parser, without running it."""
    app = get_command(build_app())
    context = app.make_context("etprof", words[:1])
    command = app.get_command(context, words[0])  # type: ignore[attr-defined]
    assert command is not None, f"etprof has no command {words[0]!r}"
    rest = words[1:]
    while hasattr(command, "get_command"):
        group = command.make_context(words[0], rest[:1], parent=context)
        command, rest = command.get_command(group, rest[0]), rest[1:]
        assert command is not None, f"no such subcommand in {words}"
    command.make_context(words[0], rest, parent=context)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_line_parses(document: Path) -> None:
    for words in command_lines(document):
        # `--help` ends the parsing at once.
        with suppress(typer.Exit):
            parse(words)


def test_command_lines_are_found_in_the_documents() -> None:
    assert command_lines(ROOT / "README.md")
    assert sum(len(command_lines(document)) for document in DOCUMENTS) > 20


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


def test_the_parser_used_here_refuses_what_the_program_refuses() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["run", "--no-such-option"])


def test_a_plan_key_that_is_documented_exists_and_the_other_way_round() -> None:
    from etprof.store.plan_file import json_schema

    text = (ROOT / "docs/reference/config.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(?:experiments\[\]|schedule|analysis)\.(\w+)`", text))
    documented |= set(re.findall(r"^\| `(\w+)` \|", text, re.M)) | set(re.findall(r" or `(\w+)` \|", text))
    schema = json_schema()
    known = set(schema["properties"]) - {"$schema", "experiments", "schedule", "analysis"}
    for part in ("_ExperimentPart", "_SchedulePart", "_AnalysisPart"):
        known |= set(schema["$defs"][part]["properties"])
    assert documented == known
