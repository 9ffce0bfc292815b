"""`etprof doctor` as typed."""

import json

import pytest

from etprof.cli.main import main


def test_people_and_programs_are_told_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert main(["doctor", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["schema_version"] == 1
    assert told["can_run"] is (code == 0)
    assert len(lines) == len(told["checks"]) + 1
    for line, check in zip(lines, told["checks"], strict=False):
        assert line.startswith(check["status"])
        assert check["name"] in line
        assert check["found"] in line


def test_a_machine_that_lacks_what_is_required_exits_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etprof.app.doctor.installed_version", lambda name: None)
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("missing") and "pip install" in line for line in lines)
    assert lines[-1] == "The main job cannot run here: see `missing`."
