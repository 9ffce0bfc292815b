"""The runner on other systems: the oldest and the newest Debian of this machine's mirror, and one without glibc."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.device_parts import RunnerParts
from etprof.core.run import JobOutcome
from etprof.devices.kind import DeviceRequest
from etprof.devices.remote_kind import build_remote_kind
from foreign_roots import RootShell, find_root
from scripted_device import a_job, with_experiment

# They run programs of other systems, some under emulation.
pytestmark = pytest.mark.exhaustive

PARTS = RunnerParts()
# By Debian's name of the architecture.
ARCHITECTURES = {"arm64": "arm64", "amd64": "x86_64"}
RunIn = Callable[[Path, Path | None], tuple[JobOutcome, dict[str, object]]]


@pytest.fixture
def run_in(emulator: str, toy_cnn: Path, tmp_path: Path) -> RunIn:
    """Runs a model in a root, with etprof's own runner or one that is named; gives how it ended, and its result."""

    def run(root: Path, runner: Path | None) -> tuple[JobOutcome, dict[str, object]]:
        (root / "tmp").mkdir(exist_ok=True)
        kind = build_remote_kind(lambda _: RootShell(root, emulator), folder="/tmp", platform="linux")
        job = with_experiment(a_job(tmp_path), runner_path=runner, extra_args=(), launcher=())
        job = replace(job, model=toy_cnn / "toy_cnn_xnnpack_fp32.pte", inputs=(), timeout_s=100.0)
        experiments = (job.block.experiment,)
        with kind.open(DeviceRequest("root", experiments=experiments), PARTS) as opened:
            outcome = opened.device.run(job)
        assert not list((root / "tmp").glob("etprof-*"))
        return outcome, json.loads(job.result.read_bytes()) if job.result.exists() else {}

    return run


@pytest.fixture(params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def plain_runner(architecture: str, folder: Path) -> Path:
    """The runner with ExecuTorch's libraries beside it, which takes C and C++ library from the system."""
    bundle = PARTS.find_bundle(ARCHITECTURES[architecture], lambda _: None)
    folder.mkdir()
    for path in (bundle.folder / "bin" / "etprof_runner", *(bundle.folder / "lib").glob("libexecutorch*")):
        shutil.copy(path, folder)
    return folder / "etprof_runner"


@pytest.mark.parametrize("release", ["oldest", "newest"])
def test_the_bundle_runs_on_every_debian(architecture: str, release: str, run_in: RunIn) -> None:
    outcome, result = run_in(find_root(f"{release}-{architecture}"), None)
    assert (outcome.problem, result["error"]) == ("", "")
    assert len(result["features_seen"]) > 5  # type: ignore[arg-type]


def test_a_plain_runner_needs_a_c_library_as_new_as_the_one_it_was_built_with(
    architecture: str, run_in: RunIn, tmp_path: Path
) -> None:
    runner = plain_runner(architecture, tmp_path / "plain")
    outcome, result = run_in(find_root(f"newest-{architecture}"), runner)
    assert (outcome.problem, result["error"]) == ("", "")
    outcome, _ = run_in(find_root(f"oldest-{architecture}"), runner)
    assert outcome.problem.startswith("the runner needs GLIBC")
    assert outcome.problem.endswith("and the device's C library is older: omit runner_path, etprof's runner fits")


def build_system_with_musl(folder: Path) -> Path:
    """A root whose only C library is musl, with the tools of busybox."""
    root = folder / "musl"
    shutil.copytree(find_root("musl"), root, symlinks=True)
    assert list(root.rglob("ld-linux*")) == []
    busybox = next(path for path in (root / "bin" / "busybox", root / "usr/bin/busybox") if path.exists())
    tools = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in tools:
        if not (busybox.parent / name).exists():
            (busybox.parent / name).symlink_to("busybox")
    return root


def test_with_musl_a_plain_runner_is_refused_with_a_sentence_and_the_bundle_runs(run_in: RunIn, tmp_path: Path) -> None:
    root = build_system_with_musl(tmp_path)
    outcome, _ = run_in(root, plain_runner("amd64", tmp_path / "plain"))
    assert outcome.problem == (
        "the runner was built for another C library than the device has: omit runner_path, etprof's runner fits"
    )
    outcome, result = run_in(root, None)
    assert (outcome.problem, result["error"]) == ("", "")
