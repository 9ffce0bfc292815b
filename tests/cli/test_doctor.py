"""`etprof doctor` as typed."""

import json
from pathlib import Path

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


def test_a_model_that_has_to_be_there_is_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "toy_cnn_xnnpack_fp16.pte"
    assert main(["doctor", "--model", str(model)]) == 1
    shown = capsys.readouterr().out
    assert f"there is no {model}. Export it first: `etprof export toy_cnn --dtype fp16 --outdir {tmp_path}`." in shown
    model.touch()
    main(["doctor", "--model", str(model)])
    lines = {line.split()[1]: line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert (lines["model"], lines["ETRecord"]) == ("ok", "warning")
