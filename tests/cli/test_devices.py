"""`etprof devices`: what it prints of devices that are there and of those that are not."""

import pytest

from etprof.cli.main import main

Capture = pytest.CaptureFixture[str]


def test_a_device_is_described_in_lines_that_fit(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["devices", "show", "local"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "local"
    assert all(line.startswith("  ") for line in lines[1:])
    assert any(line.startswith("  features: ") for line in lines)
    assert max(map(len, lines)) <= 60


def test_a_device_that_cannot_be_used_says_why_and_exits_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["devices", "show", "local", "android:nowhere"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("local\n")
    assert "adb" in said.partition("android:nowhere\n")[2]


def test_all_kinds_are_listed_even_those_that_have_to_be_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["devices", "list"]) == 0
    names = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [name.partition(":")[0].partition("[")[0] for name in names] == ["local", "emulated", "android", "ssh"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "moon"], "There is no device 'moon'."),
        (["clean", "local"], "Only android and ssh devices can be cleaned."),
        (["show"], "Missing argument 'DEVICE"),
        (["clean"], "Missing argument 'DEVICE"),
    ],
)
def test_a_device_that_is_none_is_refused(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["devices", *arguments]) == 2
    assert said in capsys.readouterr().err
