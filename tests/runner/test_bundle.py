"""The cross-compiled bundle: one folder that runs under emulation from an odd place, with SME2 shown and hidden."""

import json
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from etprof.app.devices import open_device
from etprof.cli.main import main
from etprof.core.errors import RunnerError, UsageError
from etprof.devices.kind import DeviceRequest
from etprof.runner.bundle import Bundle, ensure_bundle
from etprof.runner.bundle_archive import pack
from etprof.runner.cross import resolve_parts
from etprof.runner.isa import resolve_hidden
from etprof.runner.toolchain import Compiler
from etprof.traces.etdump import read_etdump
from runner_block import Block, read_values, run_block, signal_to_noise_db

# They build runners, in a cache of their own.
pytestmark = pytest.mark.usefixtures("own_cache")

_LEAST_SNR_DB = {"fp32": 90, "fp16": 45, "int8": 20}
_SME = ["sme", "sme2", "sme2p1", "sme_i16i32", "sme_bi32i32", "sme_b16b16", "sme_f16f16"]


@pytest.fixture(scope="session")
def unpacked(arm_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive unpacked far from where it was made, in a folder whose name has a space and an accent."""
    folder = tmp_path_factory.mktemp("odd") / "an odd plâce"
    pack(arm_bundle, folder / "runner.tar.gz")
    with tarfile.open(folder / "runner.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "etprof-runner"


@pytest.fixture(scope="session")
def command(arm_bundle: Bundle, unpacked: Path, emulator: str) -> Sequence[str]:
    return (emulator, "-cpu", "max", *arm_bundle.command(str(unpacked)))


def _operators(block: Block) -> list[str]:
    trace = read_etdump(block.etdump)
    return [trace.names[i] for i in trace.name]


@pytest.mark.parametrize("precision", _LEAST_SNR_DB)
def test_sme2_is_shown_and_hidden_in_the_same_program(
    command: Sequence[str], models: Path, tmp_path: Path, precision: str
) -> None:
    model = models / f"{precision}.pte"
    shown = run_block(command, model, tmp_path / "shown", "--traced_executions", "1")
    hidden = run_block(command, model, tmp_path / "hidden", "--traced_executions", "1", "--hide_isa", "sme2")
    for block in (shown, hidden):
        assert block.exit_code == 0, block.stderr
        assert set(_SME) <= set(block.result["features_seen"])
        expected = read_values(models / f"{precision}.expected_0.bin", block.result["outputs"][0]["dtype"])
        assert signal_to_noise_db(expected, block.output()) > _LEAST_SNR_DB[precision]
    assert (shown.result["features_hidden"], hidden.result["features_hidden"]) == ([], _SME)
    # The packed types are the KleidiAI paths, which exist for SME only.
    packed = {"fp32": "PF32", "fp16": "PF16", "int8": "PQS8"}[precision]
    assert any(packed in name for name in _operators(shown))
    assert not any(packed in name for name in _operators(hidden))


def test_hiding_sme_equals_a_cpu_without_it(
    command: Sequence[str], arm_bundle: Bundle, unpacked: Path, emulator: str, models: Path, tmp_path: Path
) -> None:
    without = (emulator, "-cpu", "max,sme=off", *arm_bundle.command(str(unpacked)))
    traced = ("--traced_executions", "1")
    shown = run_block(command, models / "fp16.pte", tmp_path / "shown", *traced)
    hidden = run_block(command, models / "fp16.pte", tmp_path / "hidden", *traced, "--hide_isa", "sme,sme2")
    lacking = run_block(without, models / "fp16.pte", tmp_path / "lacking", *traced)
    assert lacking.result["features_seen"] == [f for f in shown.result["features_seen"] if f not in _SME]
    assert hidden.result["outputs"] == lacking.result["outputs"]
    assert _operators(hidden) == _operators(lacking) != _operators(shown)


def test_a_cpu_without_sme_cannot_hide_it(
    arm_bundle: Bundle, unpacked: Path, emulator: str, models: Path, tmp_path: Path
) -> None:
    without = (emulator, "-cpu", "max,sme=off", *arm_bundle.command(str(unpacked)))
    block = run_block(without, models / "fp32.pte", tmp_path, "--hide_isa", "sme,sme2")
    assert (block.exit_code, block.result["error"]) == (3, "Nothing to hide: this CPU has none of sme, sme2.")


@pytest.mark.parametrize("group", ["i8mm", "dot", "fp16arith", "sve", "bf16", "matrix"])
def test_every_arm_group_can_be_hidden(command: Sequence[str], models: Path, tmp_path: Path, group: str) -> None:
    block = run_block(command, models / "int8.pte", tmp_path, "--hide_isa", group)
    assert block.exit_code == 0, block.stderr
    members = resolve_hidden("arm64", (group,))
    assert block.result["features_hidden"] == [f for f in block.result["features_seen"] if f in members]
    assert set(members) <= set(block.result["features_seen"])


def test_the_bundle_leaves_nothing_to_the_system(unpacked: Path) -> None:
    strings = (unpacked / "bin" / "etprof_runner").read_bytes()
    assert b"site-packages" not in strings
    assert str(Path.home()).encode() not in strings
    names = {p.name for p in (unpacked / "lib").iterdir()}
    needed = subprocess.run(
        ["aarch64-linux-gnu-readelf", "-d", *(unpacked / "lib").iterdir(), unpacked / "bin" / "etprof_runner"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line} <= names
    facts = json.loads((unpacked / "bundle.json").read_bytes())
    assert facts["target"] == "linux-arm64"
    assert facts["command"][0] == "{folder}/lib/ld-linux-aarch64.so.1"


@pytest.mark.exhaustive
def test_the_launcher_finds_its_folder_from_anywhere(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A bundle for this very machine, so that the launcher itself can run.
    archive = tmp_path / "here.tar.gz"
    assert main(["runner", "build", "--bundle", str(archive)]) == 0
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "a b", filter="data")
    monkeypatch.chdir(tmp_path / "a b")
    for launcher in ("etprof-runner/run", "./etprof-runner/run", str(tmp_path / "a b/etprof-runner/run")):
        assert run_block((launcher,), models / "fp32.pte", tmp_path / "block").result["error"] == ""


def test_the_same_bundle_is_packed_to_the_same_bytes(arm_bundle: Bundle, tmp_path: Path) -> None:
    pack(arm_bundle, tmp_path / "one.tar.gz")
    pack(arm_bundle, tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_a_bundle_made_elsewhere_runs_on_a_machine_without_a_compiler(
    arm_bundle: Bundle, emulator: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(arm_bundle, tmp_path / "arm64.tar.gz")
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    request = DeviceRequest("emulated", emulator=emulator, bundle=tmp_path / "arm64.tar.gz")
    with open_device(request) as opened:
        assert opened.notes == (f"The runner is the one in arm64.tar.gz: {arm_bundle.description}.",)
        assert opened.runner_sha256 == arm_bundle.files.digests()
        assert "sme2" in opened.device.describe().features
    (kept,) = (tmp_path / "cache" / "bundles").iterdir()
    command = (emulator, "-cpu", "max", *arm_bundle.command(str(kept / "etprof-runner")))
    assert run_block(command, models / "fp32.pte", tmp_path / "block").result["error"] == ""


def test_a_toolchain_file_cannot_be_bundled() -> None:
    sdk, _, target = resolve_parts("host", None, None, lambda _: None)
    with pytest.raises(UsageError, match="plain compiler"):
        ensure_bundle(sdk, Compiler("ndk.cmake", "an NDK", is_toolchain_file=True), target)


def test_a_bundle_that_is_not_the_one_that_was_put_there_is_collected_again(arm_bundle: Bundle) -> None:
    library = arm_bundle.folder / "lib" / "libc.so.6"
    whole, said = library.read_bytes(), list[str]()
    library.write_bytes(b"another library")
    again = ensure_bundle(*resolve_parts("linux-arm64", None, None, lambda _: None), progress=said.append)
    assert (again, said) == (arm_bundle, ["collecting the libraries of linux-arm64"])
    assert library.read_bytes() == whole
    library.chmod(0o666)
    with pytest.raises(RunnerError, match="can be written by other users"):
        ensure_bundle(*resolve_parts("linux-arm64", None, None, lambda _: None))
    library.chmod(0o644)
