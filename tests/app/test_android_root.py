"""The bundle on Android's layout, behind the arm64 build of the real adbd, with Android's shell; all of it emulated."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from adbd import SERIAL, AdbDevice, running_adbd
from android_root import build_android_root, start_adbd
from conftest import run_etprof
from etprof.runner.bundle import ensure_bundle
from etprof.runner.bundle_archive import pack
from etprof.runner.cross import resolve_parts
from etprof.store.session_file import load_session

# They run a daemon with a shell of its own under emulation.
pytestmark = pytest.mark.exhaustive

DEVICE = f"android:{SERIAL}"


@pytest.fixture(scope="module")
def phone(emulator: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdbDevice]:
    folder = tmp_path_factory.mktemp("phone")
    root = build_android_root(folder / "root")
    assert not (root / "lib").exists()
    assert not (root / "usr").exists()
    with pytest.MonkeyPatch.context() as patch, running_adbd(folder / "adb", start_adbd(root, emulator)) as device:
        device.use(patch)
        yield device


@pytest.fixture(scope="module")
def archive(emulator: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "arm64.tar.gz"
    pack(ensure_bundle(*resolve_parts("linux-arm64", None, None, lambda _: None)), path)
    return path


def test_it_is_an_arm_cpu_with_sme2_behind_androids_shell(phone: AdbDevice) -> None:
    said = run_etprof("devices", "show", DEVICE)
    assert "arm64" in said
    assert "sme2" in said
    assert "MIRBSD KSH" in phone.adb("-s", SERIAL, "shell", "echo $KSH_VERSION")
    assert "toybox" in phone.adb("-s", SERIAL, "shell", "readlink /system/bin/tar")


def test_the_bundle_runs_with_sme2_shown_and_hidden_and_leaves_nothing(
    phone: AdbDevice, archive: Path, toy_cnn: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    run_etprof(
        "kernels", "run", str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"), "--device", DEVICE,
        "--runner-bundle", str(archive), "--blocks", "1", "--seconds", "0.5", "--output-root", str(run),
    )  # fmt: skip
    session = load_session(run)
    assert any("The runner is the one in arm64.tar.gz" in note for note in session.notes)
    report = json.loads((run / "analysis_summary.json").read_text())
    shown, hidden = sorted((v["evidence"] for v in report["variants"]), key=lambda e: not e["shown"])
    assert any(row["executed"] == "yes" and row["instructions"].get("SME") for row in shown["operators"])
    assert not any(row["executed"] == "yes" for row in hidden["operators"])
    assert hidden["stray"] == 0
    assert phone.adb("-s", SERIAL, "shell", "ls -A /data/local/tmp") == ""


@pytest.mark.parametrize(
    ("folder", "said"),
    [("/sdcard", "Programs cannot be executed in /sdcard"), ("/system", "No folder can be made in /system")],
)
@pytest.mark.usefixtures("phone")
def test_a_folder_that_cannot_be_used_is_named(
    archive: Path, toy_cnn: Path, tmp_path: Path, folder: str, said: str
) -> None:
    model = str(toy_cnn / "toy_cnn_xnnpack_fp32.pte")
    where = ["--device", DEVICE, "--device-folder", folder, "--runner-bundle", str(archive)]
    assert said in run_etprof("kernels", "run", model, *where, "--output-root", str(tmp_path / "run"), expect=1)
