"""Documents are tests: every command line that a reader is told to type is run here, rehearsed, or parsed."""

import re
import shlex
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from documented_commands import ASSIGNMENT, ROOT, Command, documents, find_command, parse, read_commands, read_mentions
from documented_workspace import Workspace, build_workspace
from etprof.runner.toolchain import compiler_path
from parts import need

# Each command line belongs to exactly one class, by a pattern that matches all of it. A compatibility script counts as
# the command it calls.
RUN = (
    r"etprof (doctor(?! --self-test)|report|explain|validate|compare|check(?! \S*\.pte))\b.*",
    r"etprof models (list|show|new)\b.*",
    r"etprof trace (operators|categories|transposes|timeline|json)\b.*",
    r"etprof runner (info|build)",
    r"etprof history (add|list|sql|trend|export|report)\b(?!.* fleet\.duckdb).*",
    r"etprof export( --model)? \"?toy_cnn\b(?!.*--quantize).*",
    r"etprof export my_net",
    r"etprof skills (list|show|install|verify export_model)\b.*",
    r"bash model_profiling/scripts/check_prereqs\.sh",
    r"python - .*<<'PY' .*",
    r"(source|cat|cp|mkdir|test|for|chmod) .*|cd ~/.*",
    ASSIGNMENT,
)
# Run with --dry-run: the plan is read and the schedule made, but a device or minutes would be needed for the rest.
REHEARSED = (r"etprof run\b.*--config .*",)
# Parsed by the real parser, with the reason why that is all.
PARSED = {
    r"etprof quickstart\b.*": "takes half a minute; tests/cli/test_quickstart.py runs it",
    r"etprof profile\b.*": "takes minutes; tests/cli runs it",
    r"etprof explore\b.*": "takes minutes; tests/cli/test_explore.py runs it",
    r"etprof llm\b.*": "takes minutes; tests/cli/test_llm.py runs it",
    r"etprof check \S+\.pte\b.*": "takes minutes; tests/cli/test_check.py runs it",
    r"etprof doctor --self-test\b.*": "takes half a minute; tests/app/test_self_test.py runs it",
    r"etprof export (my_net --|--model toy_cnn --quantize).*": "takes long; tests/export runs every kind of export",
    r"etprof export (--all|(--model )?(edgetam|mobilenet|tiny)_|\"\$MODEL\").*": "takes minutes; tests/export does it",
    r"etprof skills verify run_profiling --input device=android.*": "needs a device; the skills' own tests run it",
    r"etprof devices (list|show|clean|peaks|calibrate)\b.*": "starts an adb server, needs a host or an idle CPU",
    r"etprof forecast\b.*": "needs the profile of a device; tests/cli/test_forecast.py runs it",
    r"etprof kernels (run|import|view|log)\b.*": "needs samples or a recording; tests/cli/test_kernels.py runs it",
    r"etprof fleet (up|worker|devices|run)\b.*": "needs a scheduler or serves until Ctrl-C; tests/app/fleet runs it",
    r"etprof history trend toy_cnn --file fleet\.duckdb": "needs the runs of a fleet; tests/app/fleet does it",
    r"etprof mcp\b.*": "serves until its client leaves; tests/mcp_server runs it",
    r"etprof runner build --target .*": "fetches a wheel of another machine; tests/runner/test_cross.py runs it",
    r"make \w+": "installs everything, or is what runs this test",
    r"scripts/\w+( \.venv \S+)?": "installs packages or fetches programs; .ci/run runs them",
    r"bash model_profiling/scripts/setup_repo\.sh": "installs everything",
}
EXCEPTIONS = {
    r"git clone https://\S+ executorch_sme2_kit|cd executorch_sme2_kit": "needs the network, and fetches the older kit",
    r"python \.\.\. export_model\.py --model toy_cnn \.\.\.": "a sketch of a command, with its path left out",
    r"pip install (-e|\"etprof\[).*": "installs packages",
    r"pip install ai-edge-model-explorer.*|model-explorer .*": "tests/app/test_model_explorer.py loads what it opens",
    r"git (fetch|worktree) .*|gh pr comment .*": "needs GitHub",
    r"openssl .*": "makes certificates; tests/app/fleet/test_tls.py runs it",
    r"if \[.*|exit .*": "glue between the commands of a workflow's step",
}
# Programs that are not ours: what follows them is theirs to judge.
FOREIGN = r"(pip|apt-get|adb|ssh|ssh-\w+|git|chmod|trace_processor)\b.*"
PLACES = (
    r"(?:model_profiling/(?:export|scripts|tools|models|configs)|scripts|bench|docs|agent_skill_ml_profiling)/[\w./-]+"
)

ALL = [command for document in documents() for command in read_commands(document)]
MENTIONS = [command for document in documents() for command in read_mentions(document)]


def matches(command: Command, patterns: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, command.plain, re.S) for pattern in patterns)


def classes_of(command: Command) -> list[str]:
    table = {"run": RUN, "rehearsed": REHEARSED, "parsed": tuple(PARSED), "exception": tuple(EXCEPTIONS)}
    return [name for name, patterns in table.items() if matches(command, patterns)]


def check_parsed(command: Command) -> None:
    # What a shell does where the command fails is no part of it.
    program, *words = shlex.split(command.plain.partition(" || ")[0])
    if program == "etprof":
        parse(words)
    elif program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.M), f"{command}: no such target"
    for place in re.findall(PLACES, command.text):
        assert (ROOT / place).exists(), f"{command}: there is no {place}"


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    need(find_spec("torch") and find_spec("executorch"), "torch and executorch are not installed")
    need(compiler_path(), "there is no C++ compiler")
    return build_workspace(tmp_path_factory.mktemp("documented"))


def list_documents() -> list[Any]:
    """Each by its name. The users' own documents and the first two of ours are tried always, the others in CI."""
    always = re.compile(r"README\.md|.*/first-profile\.md|.*/seed_commands/.*")
    names = sorted({command.document for command in ALL})
    return [n if always.fullmatch(n) else pytest.param(n, marks=pytest.mark.exhaustive) for n in names]


@pytest.mark.parametrize("name", list_documents())
def test_the_commands_of_a_document_work_in_their_order(name: str, profiled: Workspace, tmp_path: Path) -> None:
    workspace = profiled.copy_to(tmp_path / "root")
    for command in (command for command in ALL if command.document == name):
        (kind,) = classes_of(command)
        if kind == "run":
            workspace.run_command(command)
        elif kind == "rehearsed":
            workspace.rehearse_command(command)
        elif kind == "parsed":
            check_parsed(command)


@pytest.mark.parametrize("command", dict.fromkeys(ALL), ids=str)
def test_a_command_belongs_to_exactly_one_class(command: Command) -> None:
    assert len(classes_of(command)) == 1, f"{command.plain!r} is {classes_of(command) or 'in no class'}"


@pytest.mark.parametrize("pattern", [*RUN, *REHEARSED, *PARSED, *EXCEPTIONS])
def test_no_pattern_is_left_over(pattern: str) -> None:
    assert any(matches(command, [pattern]) for command in ALL)


@pytest.mark.parametrize("mention", dict.fromkeys(MENTIONS), ids=str)
def test_a_command_named_in_running_text_exists_with_its_options(mention: Command) -> None:
    program, _, rest = mention.plain.partition(" ")
    if program == "etprof":
        words = rest.split()
        command, context, behind = find_command(words)
        assert len(behind) < len(words) or behind[0] in ("--help", "--version"), f"{mention}: no such command"
        known = {option for parameter in command.get_params(context) for option in parameter.opts}
        assert {word.partition("=")[0] for word in behind if word.startswith("--")} <= known, mention
    elif mention.plain.startswith("python -m "):
        assert find_spec(rest.split()[1]), mention
    elif not re.fullmatch(FOREIGN, mention.plain) and not mention.plain.startswith("python -c "):
        check_parsed(mention)


def test_a_line_of_python_in_running_text_works(tmp_path: Path) -> None:
    lines = [mention for mention in MENTIONS if mention.plain.startswith("python -c ")]
    assert lines
    for line in lines:
        Workspace(tmp_path).run_command(line)


def test_commands_are_found_in_every_kind_of_document() -> None:
    found = {command.document for command in ALL}
    for name in ("README.md", "docs/guides/first-profile.md", "docs/guides/profile-check.yml"):
        assert name in found
    assert {f"tests/data/seed_commands/00{n}.txt" for n in range(5)} <= found
    assert len(ALL) > 90
    assert len(MENTIONS) > 50


def test_what_the_program_would_refuse_is_refused_here() -> None:
    for wrong in ("etprof run --no-such-option", "etprof no-such-command", "etprof runner", "make no_such_target"):
        with pytest.raises(Exception, match=r"No such option|has no command|needs one of|no such target"):
            check_parsed(Command("nowhere", wrong))
    with pytest.raises(AssertionError, match="there is no"):
        check_parsed(Command("nowhere", "etprof run --config model_profiling/configs/no_such.json"))
