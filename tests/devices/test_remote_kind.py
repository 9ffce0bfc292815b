"""Devices behind a shell, opened and closed: what is sent, what stays, what is removed, and what is refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from adbd import SERIAL
from device_builder import a_bundle, a_qemu
from etprof.app.device_parts import RunnerParts
from etprof.app.devices import DeviceRequest, clean_device, open_device, parse_device
from etprof.core.digest import file_sha256
from etprof.core.errors import DeviceError, UsageError
from etprof.core.plan import Block, Experiment, Warmup
from etprof.core.run import Job
from etprof.devices.remote_kind import build_remote_kind
from etprof.devices.shell import Progress
from etprof.runner.bundle import Bundle, ensure_bundle
from etprof.runner.cpu_features import host_architecture
from etprof.runner.cross import resolve_parts
from local_shell import LocalShell
from scripted_device import a_job
from scripted_remote import count_pushes
from sshd import HOST


@pytest.fixture(params=["ssh", "android"])
def name(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue({"ssh": "sshd", "android": "adbd"}[request.param])
    return {"ssh": f"ssh:{HOST}", "android": f"android:{SERIAL}"}[request.param]


@pytest.fixture
def job(tmp_path: Path, toy_cnn: Path) -> Job:
    """A block of one inference of a model that may be changed."""
    made = a_job(tmp_path)
    shutil.copy(toy_cnn / "toy_cnn_xnnpack_fp32.pte", made.model)
    shutil.copy(toy_cnn / "toy_cnn_xnnpack_fp32.input_0.bin", made.inputs[0])
    return replace(made, block=Block(Experiment("on", runs=1, traced_runs=1, warmup=Warmup(0, 0)), 1, 0))


def run_once(request: DeviceRequest, job: Job) -> None:
    with open_device(request) as opened:
        for _ in range(2):
            assert opened.device.run(job).problem == ""


@pytest.mark.exhaustive
def test_a_run_that_keeps_its_files_leaves_what_the_next_one_needs(name: str, job: Job, device_folder: Path) -> None:
    said = list[str]()
    keeping = replace(parse_device(name), folder=str(device_folder), keep=True, progress=said.append)
    run_once(keeping, job)
    assert len(count_pushes(said)) == 1
    (ours,) = device_folder.iterdir()
    files = {f"model_{file_sha256(job.model)[:16]}.pte", f"input_{file_sha256(job.inputs[0])[:16]}.bin"}
    assert {path.name for path in ours.iterdir()} == {".made-by-etprof", "runner", *files}

    said.clear()
    run_once(keeping, job)
    assert count_pushes(said) == []
    assert f"etprof devices clean {name} --device-folder " in said[-1]

    job.model.write_bytes(job.model.read_bytes() + bytes(16))
    run_once(replace(keeping, keep=False), job)
    assert count_pushes(said) == [1]
    assert list(device_folder.iterdir()) == []


@pytest.mark.usefixtures("adbd")
def test_what_was_kept_can_be_removed_without_a_run(job: Job, device_folder: Path) -> None:
    name = f"android:{SERIAL}"
    (device_folder / "precious").write_text("not ours")
    request = replace(parse_device(name), folder=str(device_folder))
    run_once(replace(request, keep=True), job)
    assert len(list(device_folder.iterdir())) == 2
    assert clean_device(request).endswith(f" was removed from {name}")
    assert [path.name for path in device_folder.iterdir()] == ["precious"]


@pytest.mark.usefixtures("adbd")
def test_runners_of_ones_own_do_not_push_each_other_out(job: Job, tmp_path: Path, device_folder: Path) -> None:
    bundle = ensure_bundle(*resolve_parts("host", None, None, lambda _: None))
    experiments = []
    for place in ("one", "other"):
        folder = tmp_path / place
        folder.mkdir()
        for path in (bundle.folder / "bin" / "etprof_runner", *(bundle.folder / "lib").glob("libexecutorch*")):
            shutil.copy(path, folder)
        with (folder / "etprof_runner").open("ab") as runner:
            runner.write(place.encode())
        experiments.append(replace(job.block.experiment, name=place, runner_path=folder / "etprof_runner"))
    said = list[str]()
    request = replace(parse_device(f"android:{SERIAL}"), folder=str(device_folder), progress=said.append)
    with open_device(replace(request, experiments=tuple(experiments))) as opened:
        for experiment in experiments * 2:
            block = replace(job.block, experiment=experiment)
            assert opened.device.run(replace(job, block=block)).problem == ""
    assert len(count_pushes(said)) == 2


def test_a_runner_for_another_machine_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    other = "x86_64" if host_architecture() == "arm64" else "arm64"
    runner = tmp_path / "executor_runner"
    runner.write_bytes(b"\x7fELF".ljust(18, b"\0") + bytes([{"x86_64": 62, "arm64": 183}[other], 0]))
    runner.write_bytes(runner.read_bytes() + b"Model executed successfully")
    kind = build_remote_kind(lambda _: LocalShell(), folder=str(tmp_path), platform="linux")
    request = DeviceRequest("shell", experiments=(Experiment("on", runner_path=runner),))
    with (
        pytest.raises(UsageError, match=f"is for {other}, and local:shell is {host_architecture()}"),
        kind.open(request, RunnerParts()),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["executor_runner"]


class PartsWithBundle(RunnerParts):
    """Any folder with a loader for a bundle, where no runner is started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_bundle(self, architecture: str, progress: Progress, archive: Path | None = None) -> Bundle:
        return a_bundle(self._folder)


def test_an_emulator_that_is_too_old_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.mkdir()
    kind = build_remote_kind(lambda _: LocalShell(), folder=str(device), platform="linux")
    request = DeviceRequest("shell", emulator=str(a_qemu(tmp_path, "7.2.1")))
    with (
        pytest.raises(DeviceError, match=r"on local:shell is not a QEMU that emulates SME2"),
        kind.open(request, PartsWithBundle(tmp_path / "bundle")),
    ):
        pass
    assert list(device.iterdir()) == []


def test_the_device_is_named_that_may_still_hold_our_folder(tmp_path: Path) -> None:
    said, shell = list[str](), LocalShell()
    kind = build_remote_kind(lambda _: shell, folder=str(tmp_path), platform="linux")
    with kind.open(DeviceRequest("shell", progress=said.append), PartsWithBundle(tmp_path / "bundle")) as opened:
        assert opened.device.describe().architecture == host_architecture()
        shell.is_cut = True
    assert len(said) == 1
    assert "may still be on local:shell; the next run there removes it. local:shell is gone" in said[0]
    (ours,) = tmp_path.glob("etprof-*")
    shell.is_cut = False
    assert kind.clean is not None
    assert kind.clean(DeviceRequest("shell")) == f"{ours} was removed from local:shell"
    assert not ours.exists()


def test_a_shell_is_closed_when_the_device_is_and_when_it_cannot_be_opened(tmp_path: Path) -> None:
    closed = list[str]()

    class ClosedShell(LocalShell):
        def close(self) -> None:
            closed.append(self.name)

    kind = build_remote_kind(lambda _: ClosedShell(), folder=str(tmp_path / "nowhere"), platform="linux")
    parts = PartsWithBundle(tmp_path / "bundle")
    kind.describe(DeviceRequest("shell"), parts)
    with pytest.raises(DeviceError, match="There is no folder"), kind.open(DeviceRequest("shell"), parts):
        pass
    assert closed == ["local:shell"] * 2
