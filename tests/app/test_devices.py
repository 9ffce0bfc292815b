"""Devices by name: what is refused, what is listed, and from a plan to a report on real ones."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adbd import SERIAL
from conftest import ROOT, run_etprof
from etprof.app.devices import DeviceRequest, device_of_platform, list_devices, parse_device
from etprof.cli.main import main
from etprof.core.errors import UsageError
from etprof.runner.bundle import ensure_bundle
from etprof.runner.cross import resolve_parts
from etprof.store.session_file import load_session
from etprof.traces.etdump import read_etdump
from sshd import HOST

EMULATED: dict[str, Callable[[str], list[str]]] = {
    "emulated": lambda emulator: ["--device", "emulated", "--emulator", emulator],
    "ssh": lambda emulator: ["--device", f"ssh:{HOST}", "--emulator", emulator],
    "android": lambda emulator: ["--device", f"android:{SERIAL}", "--emulator", emulator],
}


def write_plan(folder: Path, model: Path, hide_isa: list[str], **schedule: Any) -> tuple[Path, Path]:
    """A short plan for the model with one variant that hides something; returns its file and the run's folder."""
    quick = {"num_runs": 2, "traced_runs": 1, "warmup": {"min": 0, "max": 0}}
    plan = {
        "model": str(model),
        "output_root": str(folder / "run"),
        "experiments": [{"name": "off", "hide_isa": hide_isa, **quick}, {"name": "on", **quick}],
        "schedule": {"blocks": 1, "retries": 0, "timeout_s": 120, **schedule},
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return path, folder / "run"


def operators(run: Path, variant: str) -> list[str]:
    trace = read_etdump(run / variant / f"{variant}_t1.etdump")
    return [trace.names[i] for i in trace.name]


@pytest.mark.parametrize(
    "kind", [k if k == "emulated" else pytest.param(k, marks=pytest.mark.exhaustive) for k in EMULATED]
)
def test_sme2_kernels_are_sampled_when_shown_and_only_then(
    kind: str, request: pytest.FixtureRequest, emulator: str, toy_cnn: Path, tmp_path: Path, device_folder: Path
) -> None:
    for daemon in {"ssh": ["sshd"], "android": ["adbd"]}.get(kind, []):
        request.getfixturevalue(daemon)
    plan, run = write_plan(tmp_path, toy_cnn / "toy_cnn_xnnpack_fp32.pte", ["sme", "sme2"])
    where = [] if kind == "emulated" else ["--device-folder", str(device_folder)]
    said = run_etprof("run", "--config", str(plan), "--kernels", *EMULATED[kind](emulator), *where)

    session = load_session(run)
    assert {"sme", "sme2"} <= set(session.device.features)
    assert (session.device.sme_vector_bits, session.device.times_are_real) == (256, False)
    # The packed types are the KleidiAI paths, which exist for SME only.
    assert any("PF32" in name for name in operators(run, "on"))
    assert not any("PF32" in name for name in operators(run, "off"))
    assert list(device_folder.iterdir()) == []

    report = json.loads((run / "analysis_summary.json").read_text())
    assert [variant["latency"] for variant in report["variants"]] == [None] * 4
    _check_evidence(report)
    assert [comparison["speedup"] for comparison in report["comparisons"]] == [None]
    assert report["comparisons"][0]["output_difference"] < 1e-5
    for text in (said, *(p.read_text() for p in (run / "report.md", run / "report.html", run / "report.csv"))):
        assert "emulated: times not meaningful" in text
    for text in (said, *((run / name).read_text() for name in ("report.md", "report.html"))):
        assert re.search(
            r"SME2 executed: yes, in \d of 6 Convolution/GEMM operators,\s[\d.]+\s%\sof\stheir\ssamples", text
        )
        assert re.search(r"SME2 executed: no, in none of 6", text)
    assert "median" not in "".join(line for line in said.splitlines() if line.startswith("block "))


def _check_evidence(report: dict[str, Any]) -> None:
    """SME2 executed in the on variant, by samples of its operators; in the off variant not one sample met it."""
    variants = {variant["experiment"]: variant["evidence"] for variant in report["variants"]}
    assert (variants["on"], variants["off"]) == (None, None)
    on, off = variants["on_kernels"], variants["off_kernels"]
    proven = [row for row in on["operators"] if row["executed"] == "yes" and row["samples"] > 40]
    assert {row["category"] for row in proven} == {"Convolution", "GEMM"}
    assert all(any("sme2_mopa" in kernel["name"] for kernel in row["kernels"]) for row in proven)
    assert all(row["instructions"]["SME"] > 0 for row in proven)
    assert (on["shown"], off["shown"], off["stray"]) == (True, False, 0)
    assert off["samples"] > 100
    assert not any("SME" in row["instructions"] or row["executed"] == "yes" for row in off["operators"])


@pytest.mark.usefixtures("sshd")
def test_a_native_run_over_ssh_has_real_times_and_a_verdict(toy_cnn: Path, tmp_path: Path, device_folder: Path) -> None:
    plan, run = write_plan(tmp_path, toy_cnn / "toy_cnn_xnnpack_fp32.pte", ["avx2"], blocks=3)
    device = ["--device", f"ssh:{HOST}", "--device-folder", str(device_folder)]
    said = run_etprof("run", "--config", str(plan), *device)
    assert "times not meaningful" not in said
    session = load_session(run)
    assert session.device.name == f"ssh:{HOST}"
    assert session.device.times_are_real
    assert all(result.is_ok and result.cpu_before.load_average is not None for result in session.results)
    report = json.loads((run / "analysis_summary.json").read_text())
    assert report["comparisons"][0]["speedup"] is not None
    assert [variant["latency"]["samples"] for variant in report["variants"]] == [6, 6]
    assert list(device_folder.iterdir()) == []


@pytest.mark.usefixtures("sshd")
def test_a_runner_of_ones_own_is_pushed_with_the_libraries_beside_it(
    toy_cnn: Path, tmp_path: Path, device_folder: Path
) -> None:
    bundle = ensure_bundle(*resolve_parts("host", None, None, lambda _: None))
    mine = tmp_path / "my runner"
    mine.mkdir()
    for path in (bundle.folder / "bin" / "etprof_runner", *(bundle.folder / "lib").glob("libexecutorch*")):
        shutil.copy(path, mine)
    plan, run = write_plan(tmp_path, toy_cnn / "toy_cnn_xnnpack_fp32.pte", ["avx2"])
    text = json.loads(plan.read_text())
    for experiment in text["experiments"]:
        experiment["runner_path"] = str(mine / "etprof_runner")
    plan.write_text(json.dumps(text))
    run_etprof("run", "--config", str(plan), "--device", f"ssh:{HOST}", "--device-folder", str(device_folder))
    assert [result.runner for result in load_session(run).results] == ["native", "native"]

    (mine / "libexecutorch_threadpool.so").unlink()
    device = ["--device", f"ssh:{HOST}", "--device-folder", str(device_folder)]
    said = run_etprof("run", "--config", str(plan), *device, "--force", expect=1)
    assert "needs libexecutorch_threadpool.so, which the device does not have: put it beside the runner" in said
    assert list(device_folder.iterdir()) == []


@pytest.mark.usefixtures("sshd")
def test_control_c_leaves_nothing_on_the_device_and_keeps_what_was_measured(
    toy_cnn: Path, tmp_path: Path, device_folder: Path
) -> None:
    plan, run = write_plan(tmp_path, toy_cnn / "toy_cnn_xnnpack_fp32.pte", ["avx2"], blocks=500)
    process = subprocess.Popen(
        [sys.executable, "-m", "etprof", "run", "--config", str(plan), "--device", f"ssh:{HOST}",
         "--device-folder", str(device_folder)],
        cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (run / "on" / "on_t1.result.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(device_folder.iterdir()) == []
    assert all(result.is_ok for result in load_session(run).results)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--device", "toaster"], 2, "There is no device 'toaster'."),
        (["--device", "emulated", "--runner", "python"], 2, "--runner is for local devices."),
        (["--prepare"], 2, "--prepare is for android and ssh devices."),
        (["--keep-on-device"], 2, "--keep-on-device is for android and ssh devices."),
        (["--device", "emulated", "--device-folder", "/x"], 2, "--device-folder is for android and ssh devices."),
        (["--emulator", "qemu-aarch64"], 2, "--emulator is for emulated, android and ssh devices."),
        (["--device", "ssh:x", "--remote-device", "h:1"], 2, "--remote-device is a way to name an Android device"),
        (["--device", "emulated", "--emulator", "/no/qemu"], 1, "There is no /no/qemu."),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_one_sentence(
    options: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, run = write_plan(tmp_path, tmp_path / "model.pte", ["avx2"])
    assert main(["run", "--config", str(plan), *options]) == code
    assert message in capsys.readouterr().err
    assert not run.exists()


def test_a_device_that_is_not_known_is_answered_with_those_that_are() -> None:
    with pytest.raises(UsageError) as raised:
        parse_device("toaster:9")
    assert "local, emulated, android[:SERIAL] or ssh:USER@HOST[:PORT]" in raised.value.hint


def test_what_follows_the_first_colon_is_the_place() -> None:
    assert parse_device("android:127.0.0.1:5555") == DeviceRequest("android", "127.0.0.1:5555")
    assert parse_device("local") == DeviceRequest("local")


def test_the_platforms_of_the_users_documents_are_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    found = [device_of_platform(platform) for platform in ("", "linux", "android", "emulated")]
    assert found == ["local", "local", "android", "emulated"]
    with pytest.raises(UsageError, match="This machine is linux, not mac"):
        device_of_platform("mac")
    with pytest.raises(UsageError, match="There is no platform 'windows'"):
        device_of_platform("windows")


def test_every_kind_is_listed_with_what_was_found_or_how_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path))
    local, emulated, android, ssh = list_devices()
    assert (local.name, local.trouble) == ("local", "")
    assert any(fact.startswith("features: ") for fact in local.facts)
    assert emulated.trouble.startswith("There is no qemu-aarch64.")
    assert android.trouble.startswith("adb is not installed.")
    assert ssh.name == "ssh:USER@HOST[:PORT]"
    assert ssh.facts == (
        "any Linux that your ssh client reaches", "`etprof devices show ssh:USER@HOST[:PORT]` describes it",
    )  # fmt: skip


def test_only_devices_that_keep_something_can_be_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "clean", "local"]) == 2
    assert "Only android and ssh devices can be cleaned." in capsys.readouterr().err


@pytest.mark.usefixtures("adbd")
def test_the_android_script_reaches_a_device_on_the_network(toy_cnn: Path, tmp_path: Path, device_folder: Path) -> None:
    plan, run = write_plan(tmp_path, toy_cnn / "toy_cnn_xnnpack_fp32.pte", ["avx2"])
    script = ROOT / "model_profiling/scripts/android_pipeline.py"
    done = subprocess.run(
        [sys.executable, str(script), "--config", str(plan), "--remote-device", SERIAL,
         "--device-folder", str(device_folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "pipeline ok" in done.stdout
    assert load_session(run).device.name == f"android:{SERIAL}"
