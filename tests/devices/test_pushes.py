"""Nothing is pushed twice: counted on real devices, across blocks, runs, runners and over a slow link."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adbd import SERIAL
from devices.test_contract import a_job
from etprof.cli.main import main
from etprof.core.plan import Block, Experiment, Warmup
from etprof.core.run import Job
from etprof.device_choice import DeviceRequest, open_device, parse_device
from etprof.devices import remote_folder, ssh
from etprof.devices.remote_folder import RemoteFolder
from etprof.runner.bundle import ensure_bundle
from etprof.runner.cross import resolve_parts
from namespace import can_have_namespaces, enter, unshare
from parts import need
from sshd import HOST, running_sshd


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


def pushes(said: list[str]) -> list[str]:
    """How many files each push was of, in order."""
    found = (re.match(r"pushing (\d+) files? to \S+: [^o]*$", line) for line in said)
    return [match[1] for match in found if match]


def run_once(request: DeviceRequest, job: Job) -> None:
    with open_device(request) as opened:
        for _ in range(2):
            assert opened.device.run(job).problem == ""


def test_a_run_that_is_told_to_leaves_what_the_next_one_needs(name: str, job: Job, device_folder: Path) -> None:
    said = list[str]()
    keeping = replace(parse_device(name), folder=str(device_folder), keep=True, progress=said.append)
    run_once(keeping, job)
    assert len(pushes(said)) == 1
    (ours,) = device_folder.iterdir()
    assert {path.name for path in ours.iterdir()} == {".made-by-etprof", "runner", "model.pte", "input_0.bin"}

    said.clear()
    run_once(keeping, job)
    assert pushes(said) == []
    assert f"etprof devices {name} --clean --device-folder" in said[-1]

    job.model.write_bytes(job.model.read_bytes() + bytes(16))
    run_once(replace(keeping, keep=False), job)
    assert pushes(said) == ["1"]
    assert list(device_folder.iterdir()) == []


@pytest.mark.usefixtures("adbd")
def test_what_was_kept_can_be_removed_without_a_run(
    job: Job, device_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"android:{SERIAL}"
    (device_folder / "precious").write_text("not ours")
    run_once(replace(parse_device(name), folder=str(device_folder), keep=True), job)
    assert len(list(device_folder.iterdir())) == 2
    assert main(["devices", name, "--clean", "--device-folder", str(device_folder)]) == 0
    assert f"is gone from {name}" in capsys.readouterr().out
    assert [path.name for path in device_folder.iterdir()] == ["precious"]


def test_cleaning_needs_the_name_of_a_device_that_keeps_things(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--clean"]) == 2
    assert main(["devices", "local", "--clean"]) == 2
    said = capsys.readouterr().err
    assert "--clean needs the device's name" in said
    assert "--clean is for android and ssh devices" in said


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
    assert len(pushes(said)) == 2


@contextmanager
def slow_network(rate: str) -> Iterator[tuple[str, ...]]:
    """What starts a program in a network whose only interface lets so much through in a second."""
    need(os.geteuid() == 0 and can_have_namespaces() and shutil.which("tc"), "this user cannot make a link slow")
    script = (
        f"ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate {rate} burst 32kb latency 200ms && "
        "echo ready && exec sleep 600"
    )
    with subprocess.Popen([*unshare(), "sh", "-c", script], stdout=subprocess.PIPE, text=True) as network:
        try:
            assert network.stdout is not None  # a pipe, as asked for
            need(network.stdout.readline() == "ready\n", "this kernel has no token bucket filter")
            yield tuple(enter(network.pid))
        finally:
            network.kill()


def test_a_slow_link_shows_how_far_a_push_is_and_carries_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_folder, "_REPORT_EVERY_S", 0.5)
    big, said = tmp_path / "big.bin", list[str]()
    big.write_bytes(os.urandom(6 << 20))
    with slow_network("12mbit") as launcher, running_sshd(tmp_path / "sshd", launcher) as server:
        server.use(monkeypatch)
        shell = ssh.open_shell(HOST)
        folder = RemoteFolder(shell, str(tmp_path), said.append)
        folder.make()
        try:
            start = time.monotonic()
            folder.send({"big.bin": big})
            took_s = time.monotonic() - start
            folder.forget()
            folder.send({"big.bin": big})
            assert (Path(folder.path) / "big.bin").read_bytes() == big.read_bytes()
        finally:
            folder.remove()
            shell.close()
    assert took_s > 3.0
    assert pushes(said) == ["1"]
    sent = [float(line.split(": ")[1].split()[0]) for line in said if " of 6.0 MiB" in line]
    assert len(sent) >= 3
    assert sent == sorted(set(sent))
