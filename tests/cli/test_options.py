"""Options that several commands share."""

from pathlib import Path

import pytest

from etprof.cli.options import build_request, one_run_dir, refuse_together
from etprof.core.errors import UsageError


def test_one_folder_is_wanted_as_an_argument_or_as_an_option(tmp_path: Path) -> None:
    assert one_run_dir(tmp_path) == one_run_dir(None, tmp_path) == tmp_path
    for wrong in ((None, None), (tmp_path, tmp_path)):
        with pytest.raises(UsageError, match="Give the folder of one run"):
            one_run_dir(*wrong)
    with pytest.raises(UsageError, match="There is no folder"):
        one_run_dir(tmp_path / "none")


def test_a_trace_in_place_of_a_run_is_told_who_reads_it(tmp_path: Path) -> None:
    (tmp_path / "on_t1.etdump").touch()
    with pytest.raises(UsageError, match="is a file; a run is a folder") as refused:
        one_run_dir(tmp_path / "on_t1.etdump")
    assert refused.value.hint == f"A single trace is read with: etprof trace operators {tmp_path / 'on_t1.etdump'}"


def test_a_remote_device_is_an_android_device(capsys: pytest.CaptureFixture[str]) -> None:
    request = build_request("local", "10.0.0.2:5555", folder="/data/x", keep=True, verbose=True)
    assert (request.kind, request.place) == ("android", "10.0.0.2:5555")
    assert (request.folder, request.keep, request.prepare) == ("/data/x", True, False)
    request.progress("working")
    request.say_command("adb shell")
    assert capsys.readouterr().err == "working\nadb shell\n"
    with pytest.raises(UsageError, match="--remote-device is a way to name an Android device"):
        build_request("ssh:me@there", "10.0.0.2:5555")


def test_commands_are_not_shown_unless_that_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    build_request("ssh:me@there").say_command("ssh me@there")
    assert capsys.readouterr() == ("", "")


def test_options_that_exclude_each_other_are_named_as_they_are_typed() -> None:
    refuse_together(csv=True, json=False, output_dir=None)
    with pytest.raises(UsageError, match="--csv and --output-dir are mutually exclusive") as refused:
        refuse_together("Give one.", csv=True, json=False, output_dir=Path("x"))
    assert refused.value.hint == "Give one."
