"""Every kind of check passes on what is right, fails on what is wrong, and is unknown where nothing can be told."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from etprof.skills.checks import AnyCheck, Place, Status, evaluate
from etprof.skills.contract import Check

ADAPTER: TypeAdapter[AnyCheck] = TypeAdapter(Check)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "a [strange] folder"
    folder.mkdir()
    (folder / "result.json").write_text('{"a": {"b": [1, {"c": "yes"}]}, "n": null}')
    (folder / "broken.json").write_text("{")
    (folder / "report.md").write_text("faster by 2x\n")
    (folder / "empty_one.txt").touch()
    (folder / "full_one.txt").write_text("x")
    return Place(folder, {"name": "report"}, dict(os.environ))


@pytest.mark.parametrize(
    ("check", "status", "detail"),
    [
        ({"kind": "file", "path": "report.md"}, Status.PASS, ""),
        ({"kind": "file", "path": "$name.*"}, Status.PASS, ""),
        ({"kind": "file", "path": "absent.*"}, Status.FAIL, "no such file"),
        ({"kind": "file", "path": "*_one.txt"}, Status.FAIL, "empty_one.txt: it is empty"),
        ({"kind": "json", "path": "result.json", "keys": ["a.b.1.c", "n"]}, Status.PASS, ""),
        ({"kind": "json", "path": "result.json", "values": {"a.b.0": 1, "n": None}}, Status.PASS, ""),
        ({"kind": "json", "path": "result.json", "values": {"a.b.1.c": ["no", "yes"]}}, Status.PASS, ""),
        ({"kind": "json", "path": "result.json", "keys": ["a.x"]}, Status.FAIL, "it has no a.x"),
        ({"kind": "json", "path": "result.json", "keys": ["a.b.2"]}, Status.FAIL, "it has no a.b.2"),
        ({"kind": "json", "path": "result.json", "values": {"a.b.0": 2}}, Status.FAIL, "a.b.0 is 1, not 2"),
        ({"kind": "json", "path": "broken.json", "keys": ["a"]}, Status.FAIL, "it cannot be read"),
        ({"kind": "text", "path": "report.md", "says": ["faster"]}, Status.PASS, ""),
        ({"kind": "text", "path": "report.md", "says": ["faster", "slower"]}, Status.FAIL, "does not say 'slower'"),
        ({"kind": "command", "command": 'test "$name" = report'}, Status.PASS, ""),
        ({"kind": "command", "command": "echo well", "prints": "well"}, Status.PASS, ""),
        ({"kind": "command", "command": "echo bad", "prints": "well"}, Status.FAIL, "it did not print 'well'"),
        ({"kind": "command", "command": "false | true"}, Status.FAIL, "exit code 1"),
        ({"kind": "command", "command": "exit 3", "unknown_exits": [3]}, Status.UNKNOWN, "exit code 3"),
        ({"kind": "command", "command": "no-such-program"}, Status.UNKNOWN, "exit code 127"),
        ({"kind": "command", "command": "sleep 60", "timeout_s": 0.2}, Status.UNKNOWN, "timed out after 0.2 s"),
    ],
    ids=str,
)
def test_a_check_says_what_it_found(check: dict[str, Any], status: Status, detail: str, place: Place) -> None:
    outcome = evaluate("check", ADAPTER.validate_python(check), place)
    assert outcome.status is status, outcome
    assert detail in outcome.detail
    assert bool(outcome.detail) == (status is not Status.PASS)


def test_a_failing_command_shows_the_end_of_its_output(place: Place) -> None:
    check = {"kind": "command", "command": "seq 100; echo ouch >&2; exit 1"}
    tail = evaluate("check", ADAPTER.validate_python(check), place).tail
    assert tail[-2:] == ("100", "ouch")
    assert len(tail) == 15
