"""`etprof skills` as typed: what it prints, and the exit codes that CI relies on."""

import json
from pathlib import Path

import pytest

from etprof.cli.main import main
from skill_builder import a_contract, a_document, write_skills

UNMET = a_contract(requires=[{"kind": "file", "path": "absent", "reason": "the part is absent"}])


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    documents = {
        "01_good": a_document(name="good"),
        "02_bad": a_document(name="bad", commands={"Write it": "echo [bold]ouch; false"}),
        "03_unmet": a_document(UNMET, name="unmet"),
    }
    folder = write_skills(tmp_path / "agent_skill_ml_profiling", **documents)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.usefixtures("skills")
@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("good", 0, "good: pass (3 pass, 0 fail, 0 unknown)"),
        ("bad", 1, "bad: fail (0 pass, 1 fail, 2 unknown)"),
        ("unmet", 3, "unmet: unknown (0 pass, 0 fail, 4 unknown)"),
        ("nobody", 2, ""),
    ],
)
def test_the_exit_code_tells_the_verdict(
    name: str, code: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["skills", "verify", name, "--workdir", str(tmp_path)]) == code
    said = capsys.readouterr()
    assert line in said.out
    if name == "bad":
        assert "| [bold]ouch\n" in said.out
        assert "step 1 of 1: Write it (at most 20 s)" in said.err


@pytest.mark.usefixtures("skills")
def test_json_says_the_same_and_inputs_reach_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skills", "verify", "good", "--input", "who=moon", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["skill"], value["verdict"]) == ("good", "pass")
    assert [part["status"] for part in value["parts"]] == ["pass"] * 3
    assert (tmp_path / "greeting.txt").read_text() == "hello moon\n"
    assert main(["skills", "verify", "good", "--input", "who=sun", "--check-only"]) == 1


@pytest.mark.usefixtures("skills")
def test_list_show_and_install(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skills", "list"]) == 0
    assert "01_good" in capsys.readouterr().out
    assert main(["skills", "show", "good"]) == 0
    assert capsys.readouterr().out == a_document(name="good")
    assert main(["skills", "show", "good", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"][0]["script"].startswith("echo")
    assert main(["skills", "install", "--to", str(tmp_path / "here")]) == 0
    assert (tmp_path / "here/good/SKILL.md").is_file()
    assert main(["skills", "install", "--to", str(tmp_path / "here"), "--force"]) == 0
