"""Finds the command lines in documents, and says of each which words of ours it begins with."""

import re
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etprof.cli.main import build_app
from reference_pages import read_scripts

ROOT = Path(__file__).parents[1]
SEED_COMMANDS = ROOT / "tests/data/seed_commands"
# The compatibility scripts that are shell scripts, and the commands they call.
SHELL_SCRIPTS = {"build_runners": "etprof runner build", "export_all_models": "etprof export --all"}
# What a document leaves for the reader to fill in, filled in as the workspace of the tests has it.
PLACEHOLDERS = {
    "<model>": "toy_cnn", "<model_name>": "toy_cnn", "<your_model>": "toy_cnn", "<name>": "toy_cnn",
    "<experiment>": "mac_sme2_on", "<experiment_off>": "mac_sme2_off",
}  # fmt: skip

ASSIGNMENT = r"\w+=(\"[^\"]*\"|[^\s;&|]*)"
_FENCE = re.compile(r"^(?P<indent>[ \t]*)```(?:bash|sh|shell|console)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)
_ANY_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.M | re.S)
_SPAN = re.compile(r"`([^`\n]+)`")
_PROGRAMS = r"etprof|make|python3?|bash|pip|apt-get|adb|ssh|ssh-\w+|git|chmod|cp|cat|trace_processor"
_MENTION = re.compile(rf"(?:{_PROGRAMS}) \S|(?:model_profiling|scripts|bench)/\S+\.(?:py|sh)\b|scripts/\w+")
_RUN_STEP = re.compile(r"^(?P<indent> *)(?:- )?run: (?P<text>[^|\n][^\n]*|\|\n(?:(?P=indent)  .*\n|\n)+)", re.M)


@dataclass(frozen=True)
class Command:
    """`variables` are those that the document has set before, as a shell writes them down."""

    document: str
    text: str
    variables: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """On one line, variables and placeholders filled in, and a compatibility script replaced by its command."""
        text = re.sub(r"\\\n|\s#[^\n]*", " ", fill_in(self.text))
        for assignment in reversed(self.variables):
            name, _, value = assignment.partition("=")
            text = re.sub(rf"\$(?:{name}\b|{{{name}}})", value.strip('"'), text)
        text = " ".join(text.split())
        text = text.removeprefix(".venv/bin/")
        found = re.match(r"(?:python3? )?model_profiling/(\S+\.py)\b", text)
        if found and found[1] in (scripts := read_scripts()):
            text = f"etprof {' '.join(scripts[found[1]])}{text[found.end() :]}"
        found = re.match(r"(?:bash )?model_profiling/scripts/(\w+)\.sh\b", text)
        if found and found[1] in SHELL_SCRIPTS:
            text = SHELL_SCRIPTS[found[1]] + text[found.end() :]
        return text

    def __str__(self) -> str:
        return f"{self.document}: {self.text}"


def documents() -> list[Path]:
    """Every text of the repository that tells a reader what to type."""
    folders = ("docs", "agent_skill_ml_profiling", "model_profiling")
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.md")) if not _is_output(path)]
    workflows = sorted((ROOT / "docs").rglob("*.yml"))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *found, *workflows, *sorted(SEED_COMMANDS.glob("*.txt"))]


def read_commands(document: Path) -> list[Command]:
    """The command lines of a document in their order; continued lines, loops and here-documents are one command."""
    name = str(document.relative_to(ROOT))
    found: list[Command] = []
    variables: tuple[str, ...] = ()
    for text in (text for block in _blocks(document) for text in split_commands(block)):
        found.append(Command(name, text, variables))
        if re.fullmatch(ASSIGNMENT, found[-1].plain):
            variables = (*variables, text.partition(" #")[0].strip())
    return found


def read_mentions(document: Path) -> list[Command]:
    """Commands that are named in running text, with or without values for their options."""
    if document.suffix != ".md":
        return []
    name = str(document.relative_to(ROOT))
    prose = _ANY_FENCE.sub("", document.read_text(encoding="utf-8"))
    return [Command(name, span) for span in _SPAN.findall(prose) if _MENTION.match(span)]


def split_commands(block: str) -> Iterator[str]:
    """Lines are joined until the shell itself calls them whole."""
    pending = ""
    for line in block.splitlines():
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        pending += line.removeprefix("$ ") + "\n"
        if _is_whole(pending):
            yield pending.strip()
            pending = ""
    assert not pending, f"not a whole command: {pending}"


def fill_in(text: str) -> str:
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    return text


def find_command(words: list[str]) -> tuple[Any, Any, list[str]]:
    """The command of etprof that these words name, its context, and the words behind it."""
    command: Any = build_app()
    context = command.context_class(command, info_name="etprof")
    while words and words[0] in getattr(command, "commands", {}):
        command = command.get_command(context, words[0])
        context = command.context_class(command, info_name=words[0], parent=context)
        words = words[1:]
    return command, context, words


def parse(words: list[str]) -> None:
    """Parses what follows `etprof` with the real parser, without running it."""
    command, context, rest = find_command(words)
    assert context.parent is not None or rest == ["--version"], f"etprof has no command {words[:1]}"
    inner = list(getattr(command, "commands", ())) if context.parent is not None else []
    assert not inner, f"etprof {words[0]} needs one of {inner}"
    command.make_context(words[0], rest, parent=context.parent)


def _is_output(path: Path) -> bool:
    return any(part.startswith("out_") for part in path.relative_to(ROOT).parts)


def _is_whole(text: str) -> bool:
    if text.endswith("\\\n"):
        return False
    checked = subprocess.run(["bash", "-n"], input=fill_in(text), capture_output=True, text=True)
    return checked.returncode == 0 and not checked.stderr


def _blocks(document: Path) -> list[str]:
    text = document.read_text(encoding="utf-8")
    if document.suffix == ".md":
        return [textwrap.dedent(found["text"]) for found in _FENCE.finditer(text)]
    if document.suffix == ".yml":
        return [textwrap.dedent(found["text"].removeprefix("|\n")) for found in _RUN_STEP.finditer(text)]
    return [text]
