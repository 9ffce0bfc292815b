"""How jobs are started on a device: with our bundle, or with a runner and the libraries beside it."""

from pathlib import Path

from device_builder import a_bundle
from etprof.app.device_parts import RunnerParts
from etprof.devices.remote_commands import build_commands
from scripted_device import a_job, with_experiment
from stock_runner import make_stock_runner


def test_our_bundle_is_sent_whole_and_started_by_its_own_loader(tmp_path: Path) -> None:
    said = list[str]()
    commands = build_commands(a_bundle(tmp_path / "bundle"), ("qemu", "-cpu", "max"), RunnerParts(), said.append)
    command = commands(with_experiment(a_job(tmp_path), launcher=("nice", "-n 1")))
    assert set(command.files) == {"runner/bin/etprof_runner", "runner/lib/ld.so", "runner/lib/libone.so"}
    assert command.arguments[:6] == ("qemu", "-cpu", "max", "runner/lib/ld.so", "--library-path", "runner/lib")
    assert command.arguments[6:8] == ("runner/bin/etprof_runner", "--model_path")
    assert said[0].startswith("nice '-n 1' qemu -cpu max runner/lib/ld.so ")


def test_a_named_runner_brings_the_libraries_beside_it_and_is_driven_by_its_own_flags(tmp_path: Path) -> None:
    runner = make_stock_runner(tmp_path / "executor_runner")
    (tmp_path / "libneeded.so.1").write_bytes(b"library")
    (tmp_path / "notes.txt").touch()
    command = build_commands(None, (), RunnerParts(), lambda _: None)(
        with_experiment(a_job(tmp_path), runner_path=runner, hide_isa=(), extra_args=())
    )
    folder = command.arguments[2].partition("/")[0]
    assert command.files == {f"{folder}/runner": runner, f"{folder}/libneeded.so.1": tmp_path / "libneeded.so.1"}
    assert command.arguments[:3] == ("env", f"LD_LIBRARY_PATH={folder}", f"{folder}/runner")
    assert command.arguments[3].startswith("--model_path=")


def test_runners_with_other_bytes_never_share_a_folder(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "other", "copy"):
        (tmp_path / name).mkdir()
        runner = make_stock_runner(tmp_path / name / "executor_runner")
        (tmp_path / name / "lib.so").write_bytes(b"other" if name == "other" else b"one")
        job = with_experiment(a_job(tmp_path), runner_path=runner, hide_isa=())
        folders.append(build_commands(None, (), RunnerParts(), lambda _: None)(job).arguments[1])
    one, other, copy = folders
    assert one == copy != other
