"""What a hint tells the user to type exists: the option in that command, the command itself, the path."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import etprof
from etprof.cli.main import COMMANDS, build_app

SOURCE = Path(etprof.__file__).parent
MEASURING = ("run", "profile", "kernels run")
# Who meets the errors of a module. A hint that names its command (etprof export --outdir DIR) needs no line here.
MET_IN: dict[str, tuple[str, ...]] = {
    "analysis/run_pairs.py": ("compare",),
    "app/builds.py": ("explore",),
    "app/calibrating.py": ("devices calibrate",),
    "app/explaining.py": ("explain",),
    "app/forecasting.py": ("forecast",),
    "app/exploring.py": ("explore",),
    "app/llm.py": ("llm",),
    "app/llm_workload.py": ("llm",),
    "app/program_operators.py": ("run", "profile", "llm"),
    "app/fleet/asked_plans.py": ("fleet run",),
    "app/fleet/offering.py": ("fleet worker", "fleet up"),
    "app/fleet/runs.py": ("fleet run",),
    "app/reporting.py": ("report",),
    "app/named_model.py": ("profile",),
    "app/plans.py": ("run", "profile"),
    "app/trace_files.py": ("trace operators",),
    "cli/check.py": ("check",),
    "cli/compare.py": ("compare",),
    "cli/doctor.py": ("doctor",),
    "cli/export.py": ("export",),
    "cli/options.py": MEASURING,
    "cli/report.py": ("report",),
    "cli/run.py": ("run",),
    "cli/trace.py": ("trace operators",),
    "core/label_expression.py": ("fleet run", "fleet devices"),
    "devices/android.py": MEASURING,
    "devices/remote.py": (*MEASURING, "quickstart"),
    "devices/remote_folder.py": (*MEASURING, "quickstart"),
    "devices/remote_kind.py": MEASURING,
    "devices/ssh.py": MEASURING,
    "export/acceptance.py": ("export",),
    "export/request.py": ("export",),
    "mcp/answers.py": ("mcp",),
    "runner/bundle.py": ("runner build",),
    "skills/assistant_form.py": ("skills install",),
    "skills/inputs.py": ("skills verify",),
    "skills/verification.py": ("skills verify",),
    "store/fleet_file.py": ("fleet run",),
    "store/run_folder.py": MEASURING,
}
# Of these, each hint belongs to one of the commands.
ONE_OF: dict[str, tuple[str, ...]] = {
    "app/devices.py": (*MEASURING, "quickstart"),
    "app/kernel_views.py": ("kernels view", "kernels log"),
    "skills/catalogue.py": ("skills list", "skills show", "skills verify", "skills install"),
}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
COMMAND = re.compile(r"(?<!the )(?<!this )(?<!Install )\betprof ([a-z]+)(?: ([a-z]+))?")
# Other programs' options, and words of our own that merely look like one.
FOREIGN = re.compile(r"(?:cmake|perf|adb|xcode-select|pip|apt-get|simpleperf|ssh)\b[^`.;]*")


@cache
def options_of(command: str) -> frozenset[str]:
    root: Any = build_app()
    found = root
    for word in command.split():
        context = found.context_class(found, info_name="etprof")
        found = found.get_command(context, word)
        if found is None:
            return frozenset()
    return frozenset(option for parameter in found.params for option in parameter.opts) | {"--help"}


def list_hints(path: Path) -> Iterator[tuple[int, str]]:
    """Every text that a module passes as a hint, or calls one, with its line; what is filled in stands as X."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword | ast.Assign) and "hint" in _name_of(node).lower():
            yield from ((node.lineno, text) for text in _texts(node.value))
        elif isinstance(node, ast.FunctionDef) and "hint" in node.name:
            yield from ((node.lineno, text) for text in _texts(node))


def _name_of(node: ast.keyword | ast.Assign) -> str:
    return (node.arg or "") if isinstance(node, ast.keyword) else ast.unparse(node.targets[0])


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "X" for each in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


HINTS = [
    pytest.param(path.relative_to(SOURCE).as_posix(), text, id=f"{path.relative_to(SOURCE)}:{line}")
    for path in sorted(SOURCE.rglob("*.py"))
    for line, text in list_hints(path)
]


def test_there_are_hints_to_check() -> None:
    assert len(HINTS) > 150


@pytest.mark.parametrize(("module", "hint"), HINTS)
def test_options_and_commands_of_a_hint_exist(module: str, hint: str) -> None:
    text = FOREIGN.sub("", hint)
    commands = list(COMMAND.finditer(text))
    for found in commands:
        assert found[1] in {name for names in COMMANDS.values() for name in names}, hint
    for option in OPTION.finditer(text):
        before = [found for found in commands if found.start() < option.start()]
        if before:
            name = " ".join(filter(None, before[-1].groups()))
            known = options_of(name) or options_of(before[-1][1])
            assert option[0] in known, f"`etprof {name}` has no {option[0]}: {hint}"
            continue
        assert module in {**MET_IN, **ONE_OF}, f"say in MET_IN who meets: {hint}"
        if module in ONE_OF:
            assert any(option[0] in options_of(name) for name in ONE_OF[module]), hint
        for name in MET_IN.get(module, ()):
            assert option[0] in options_of(name), f"`etprof {name}` has no {option[0]}: {hint}"


@pytest.mark.parametrize(("module", "hint"), HINTS)
def test_no_hint_names_a_file_of_the_clone(module: str, hint: str) -> None:
    """Whoever installed the wheel has none of these."""
    for folder in ("configs/templates", "scripts/", "docs/", "tests/"):
        assert folder not in hint or "in a clone" in hint
