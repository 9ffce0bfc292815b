"""`etprof doctor` as typed."""

import json
from pathlib import Path

import pytest

from etprof.app import self_test
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


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without torch and compiler, and an empty folder to work in."""
    monkeypatch.setattr(self_test, "installed_version", lambda _: None)
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_self_test_that_fails_exits_1_and_leaves_its_report(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--self-test"]) == 1
    lines = capsys.readouterr().out.splitlines()
    failed = [line for line in lines if line.startswith("fail")]
    assert len(failed) == 1
    assert "no-such-compiler" in failed[0]
    assert "Install g++ or clang" in failed[0]
    assert lines[-2].startswith("Something does not work: 1 fail, ")
    assert lines[-1].endswith("etprof_self_test.md")
    assert "| runner | fail |" in (bare / "etprof_self_test.md").read_text(encoding="utf-8")


def test_a_program_is_told_the_same_of_a_self_test(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--self-test", "--json", "--out", "here.md"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["passed"], told["device"], told["report"]) == (1, False, "local", "here.md")
    outcomes = {check["name"]: check["outcome"] for check in told["checks"]}
    assert (outcomes["export"], outcomes["runner"], outcomes["sampling"]) == ("not here", "fail", "not here")
    assert (bare / "here.md").is_file()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--device", "emulated"], "are for a self-test"),
        (["--out", "x.md"], "are for a self-test"),
        (["--self-test", "--model", "x.pte"], "mutually exclusive"),
        (["--self-test", "--device", "toaster"], "no device 'toaster'"),
        (["--self-test", "--device", "local", "--emulator", "qemu"], "--emulator is for"),
    ],
)
def test_a_wrong_request_is_no_result(
    bare: Path, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", *words]) == 2
    assert reason in capsys.readouterr().err
    assert not list(bare.iterdir())
