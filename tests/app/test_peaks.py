"""The peaks of a device: measured once, kept for it and its kernel, and put beside each run."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adbd import SERIAL, AdbDevice
from builders import a_device_info
from etprof.app import peaks as peaks_of_devices
from etprof.app.devices import parse_device
from etprof.app.peaks import ensure_peaks, find_peaks, list_peaks
from etprof.app.profiling import RunOptions, profile
from etprof.app.reporting import analyze
from etprof.core.errors import RunnerError
from etprof.core.plan import Schedule
from etprof.core.run import DeviceInfo, Job
from etprof.devices.local import LocalDevice
from etprof.reports.roofline_tables import missing_sentence
from etprof.runner.build import cache_dir
from etprof.runner.cpu_features import host_architecture
from etprof.runner.toolchain import compiler_path
from etprof.store.peaks_file import load_peaks, save_peaks
from parts import need
from peaks_builder import an_answer, some_peaks
from scripted_device import Witness, a_runnable_plan, scripted_device
from scripted_kind import add_scripted_kind
from sshd import HOST, Sshd

_COPY = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Answering(LocalDevice):
    """This machine, whose runner gives one answer; it counts how often it was asked."""

    def __init__(self, answer: str, info: DeviceInfo | None = None) -> None:
        self.asked: list[int | None] = []

        def command_for(job: Job) -> list[str]:
            self.asked.append(job.peak_passes)
            return [sys.executable, "-c", _COPY, str(job.result), answer]

        super().__init__(command_for, info or a_device_info())

    __setattr__ = object.__setattr__


def test_peaks_are_measured_once_and_told_in_a_line(own_cache: Path) -> None:
    device, heard = Answering(an_answer()), list[str]()
    first = ensure_peaks(device, heard.append)
    assert first is not None
    assert first == ensure_peaks(device, heard.append) == find_peaks(device.describe())
    assert (device.asked, heard) == ([100], ["measuring what this CPU can do, once for this device: at most 10 s"])
    (kept,) = (own_cache / "devices").iterdir()
    assert json.loads((kept / "device.json").read_text())["cpu_model"] == "A CPU"


@pytest.mark.parametrize(
    "changes",
    [{"system": "Linux 7"}, {"name": "ssh:other"}, {"cpu_count": 4}, {"features": ("avx2",)}, {"build": "b2"}],
    ids=lambda changes: next(iter(changes)),
)
def test_another_device_or_kernel_has_peaks_of_its_own(changes: dict[str, object], own_cache: Path) -> None:
    ensure_peaks(Answering(an_answer()), lambda _: None)
    assert find_peaks(a_device_info(**changes)) is None


def test_a_runner_that_cannot_leaves_a_note_and_no_peaks(own_cache: Path) -> None:
    heard: list[str] = []
    assert ensure_peaks(scripted_device(), heard.append) is None
    assert heard[1].startswith("no roofline: What the CPU of this machine can do was not measured: ")
    assert ensure_peaks(Answering("no JSON"), heard.append) is None
    assert not (own_cache / "devices").exists()


def test_an_emulated_device_is_not_even_asked(own_cache: Path) -> None:
    device = Answering(an_answer(), a_device_info(times_are_real=False))
    assert ensure_peaks(device, lambda _: None) is None
    assert device.asked == []


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> str:
    return add_scripted_kind(monkeypatch)


def test_asking_for_them_outright_is_an_error_where_they_cannot_be_measured(scripted: str, own_cache: Path) -> None:
    with pytest.raises(RunnerError, match="was not measured") as raised:
        list_peaks(parse_device(scripted))
    assert "native runner" in raised.value.hint


def test_a_profile_keeps_the_peaks_beside_its_run_and_shows_the_roofline(
    scripted: str, own_cache: Path, tmp_path: Path
) -> None:
    save_peaks(peaks_of_devices.cached_folder(a_device_info()), some_peaks())
    _profile(scripted, tmp_path)
    assert load_peaks(tmp_path / "run") == some_peaks()


def test_a_report_says_what_is_missing_until_the_peaks_are_there(
    scripted: str, own_cache: Path, tmp_path: Path
) -> None:
    witness = _profile(scripted, tmp_path)
    assert any(text.startswith("no roofline: ") for text in witness.heard)
    assert load_peaks(tmp_path / "run") is None
    assert missing_sentence(analyze(tmp_path / "run").report)


def _profile(device: str, folder: Path) -> Witness:
    witness = Witness()
    schedule = Schedule(blocks=1, max_blocks=1)
    profile(
        a_runnable_plan(folder).model, parse_device(device), witness, RunOptions("test"), output_root=folder / "run",
        schedule=schedule, runs=2,
    )  # fmt: skip
    return witness


@pytest.fixture
def one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks_of_devices, "PASSES", 1)


@pytest.mark.alone
@pytest.mark.usefixtures("one_pass")
def test_this_machine_and_one_behind_ssh_are_measured_the_same_way(
    sshd: Sshd, device_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _measure_here_and(f"ssh:{HOST}", device_folder, tmp_path, monkeypatch)
    assert list(device_folder.iterdir()) == []


@pytest.mark.alone
@pytest.mark.exhaustive
@pytest.mark.usefixtures("one_pass")
def test_an_android_device_is_measured_the_same_way(
    adbd: AdbDevice, device_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _measure_here_and(f"android:{SERIAL}", device_folder, tmp_path, monkeypatch)


def _measure_here_and(name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runners are those of the shared cache, the peaks go elsewhere."""
    need(compiler_path(), "there is no C++ compiler")
    monkeypatch.setattr(peaks_of_devices, "cache_dir", lambda: tmp_path / "cache")
    here = list_peaks(parse_device("local"))
    there = list_peaks(replace(parse_device(name), folder=str(folder)))
    assert here.peaks is not None
    assert there.peaks is not None
    assert here.peaks.architecture == there.peaks.architecture == host_architecture()
    assert [t.loop for t in here.peaks.throughputs] == [t.loop for t in there.peaks.throughputs]
    assert find_peaks(there.device) == there.peaks
    assert here.peaks != there.peaks


@pytest.mark.alone
def test_an_emulated_device_checks_its_loops_and_keeps_nothing(
    emulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peaks_of_devices, "cache_dir", lambda: tmp_path / "cache")
    found = list_peaks(parse_device("emulated"))
    assert found.peaks is None
    assert [each.name for each in found.checked][-4:] == ["sme_fp32", "sme_fp16", "sme_bf16", "sme_int8"]
    assert all(each.sum == each.macs for each in found.checked)
    assert not (tmp_path / "cache").exists()


def test_the_cache_is_that_of_the_runners(own_cache: Path) -> None:
    assert cache_dir() == own_cache
    save_peaks(own_cache / "devices" / "x", some_peaks())
    assert find_peaks(a_device_info()) is None
