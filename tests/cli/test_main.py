"""The command itself: quick, complete, and never a traceback."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import run_etprof
from etprof.cli.main import COMMANDS, build_app, main
from trace_builder import RECORDED

Capture = pytest.CaptureFixture[str]

# What takes a while to import: never for help, and of these only the first two to read a trace. Typer itself brings
# pydantic along as soon as it parses an argument.
NEEDED_FOR_A_TRACE = {"numpy", "pydantic"}
HEAVY = {*NEEDED_FOR_A_TRACE, "torch", "executorch", "torchao", "scipy", "rich", "altair", "jinja2", "capstone"}
TABLE = {
    "Start": ["quickstart", "doctor", "devices"],
    "Build": ["models", "export", "runner"],
    "Measure": ["profile", "run", "explore", "llm"],
    "Understand": ["report", "explain", "kernels", "trace", "forecast"],
    "Keep": ["compare", "check", "validate", "history", "fleet"],
    "Integrate": ["skills", "mcp"],
}
ROOT_COMMAND: Any = build_app()
ROOT_CONTEXT = ROOT_COMMAND.context_class(ROOT_COMMAND, info_name="etprof")


def walk(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, *words, name)


TREE = [
    found
    for commands in COMMANDS.values()
    for name in commands
    for found in walk(ROOT_COMMAND.get_command(ROOT_CONTEXT, name), name)
]
GROUPS = [(words, command) for words, command in TREE if hasattr(command, "commands")]


def modules_after(*arguments: str) -> set[str]:
    """What is imported once a command has done its work."""
    code = (
        "import json, sys; from etprof.cli.main import main; code = main(sys.argv[1:]);"
        "json.dump(sorted(sys.modules), sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


def test_help_imports_no_command_and_nothing_heavy() -> None:
    loaded = modules_after("--help")
    assert not loaded & HEAVY
    assert not loaded & {f"etprof.cli.{name}" for commands in COMMANDS.values() for name in commands}


def test_a_trace_is_read_without_what_it_does_not_need() -> None:
    assert not modules_after("trace", "operators", str(RECORDED["small_cnn"])) & (HEAVY - NEEDED_FOR_A_TRACE)


def test_commands_stand_in_the_groups_of_the_table() -> None:
    assert list(COMMANDS) == list(TABLE)
    for group, commands in COMMANDS.items():
        assert list(commands) == [name for name in TABLE[group] if name in commands]
    assert sum(map(len, COMMANDS.values())) <= 22


@pytest.mark.parametrize("width", ["80", "120"])
def test_help_shows_every_command_with_its_whole_summary(
    width: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    words = " ".join(shown.split())
    for group, commands in COMMANDS.items():
        assert f"\n{group}:\n" in shown
        for name, summary in commands.items():
            assert f"{name} {summary}" in words


@pytest.mark.parametrize(("words", "command"), GROUPS, ids=lambda part: " ".join(part) if type(part) is tuple else "")
def test_a_group_shows_its_commands_whole_and_takes_no_arguments(
    words: tuple[str, ...], command: Any, capsys: Capture
) -> None:
    assert main([*words, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, inner in command.commands.items():
        assert f"{name} {' '.join(inner.help.split())}" in shown
    assert [parameter.name for parameter in command.params] == []
    assert main(list(words)) == 2
    assert "Usage: etprof" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "command"), TREE, ids=lambda part: " ".join(part) if type(part) is tuple else "")
def test_every_command_explains_itself_and_each_of_its_options(words: tuple[str, ...], command: Any) -> None:
    context = command.context_class(command, info_name="etprof", parent=ROOT_CONTEXT)
    assert command.help.endswith(".")
    for parameter in command.params:
        name, meaning = parameter.get_help_record(context)
        assert meaning.partition("[default")[0].strip(), f"{' '.join(words)} {name}"


def test_a_budget_is_called_budget_everywhere() -> None:
    options = {option for _, command in TREE for parameter in command.params for option in parameter.opts}
    assert "--budget" in options
    assert {option for option in options if "budget" in option or "time-" in option} == {"--budget"}


def test_a_wrong_command_exits_2_with_the_nearest_and_without_a_traceback() -> None:
    assert "No such command 'profle'. Did you mean 'profile'?" in run_etprof("profle", expect=2)
    assert "Did you mean 'operators'?" in run_etprof("trace", "operatrs", expect=2)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run",), 2, "A run needs a plan"),
        (("run", "--config", "none.json"), 2, "There is no plan none.json"),
        (("run", "none.json"), 2, "There is no plan none.json"),
        (("run", "a.json", "--config", "b.json"), 2, "Give one plan: a.json or b.json."),
        (("run", "--device", "moon"), 2, "There is no device 'moon'"),
        (("run", "--device", "recorded:none", "--output-root", "x"), 2, "There is no folder none"),
        (("compare", "none", "."), 2, "There is no folder none"),
        (("report", "none", "."), 2, "There is no folder none"),
        (("check", ".", "--against", "none"), 2, "There is no folder none"),
        (("trace", "operators", "none.etdump"), 2, "There is no trace none.etdump"),
        (("trace", "operators", str(RECORDED["small_cnn"]), "--graph", "none"), 2, "There is no graph none"),
        (("trace", "operators", str(RECORDED["small_cnn"]), "--rules", "none"), 2, "There is no rules file none"),
        (("kernels", "import", "none"), 2, "There is no recording none"),
        (("kernels", "log", "--xnntrace", "none", "--out", "x.csv"), 2, "There is no log none"),
        (("kernels", "view", "--on", "none", "--off", "none", "--out", "x.csv"), 2, "There is no table none"),
        (("export", "toy_cnn", "--checkpoint", "none"), 2, "There is no checkpoint none"),
        (("run", "--force", "--resume"), 2, "--force and --resume are mutually exclusive."),
        (("profile", "none.pte"), 2, "There is no model none.pte"),
        (("profile", "none.pte", "--budget", "soon"), 2, "'soon' is not a duration."),
        (("report", "none"), 2, "There is no folder none"),
        (("validate",), 2, "Give the folder of one run"),
        (("export", "toy_cn"), 2, "toy_cnn"),
    ],
)
def test_a_mistake_gets_one_message_with_a_hint(
    arguments: tuple[str, ...], code: int, said: str, capsys: Capture
) -> None:
    assert main(list(arguments)) == code
    text = capsys.readouterr().err
    assert said in text
    assert text.startswith("error: ")


def test_a_pipe_that_closes_early_is_no_error() -> None:
    line = f"{sys.executable} -m etprof trace operators {RECORDED['mobilenet_v3']} --verbose --wide | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("mobilenet_v3: ")
    assert done.stderr == ""


def test_a_current_folder_that_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["validate", "x"]) == 1
    assert capsys.readouterr().err.startswith("error: The current folder does not exist any more.")
