"""`etprof forecast` and `etprof report --forecast`: what a run would take elsewhere, or what is missing for that."""

import json
from pathlib import Path

import pytest

import etprof
from builders import a_device_info
from etprof.app.peaks import cached_folder
from etprof.cli.main import main
from etprof.core.layout import DEVICE_PROFILE
from etprof.mcp import answers
from etprof.store.profile_file import save_profile
from forecast_run import a_run_to_forecast
from peaks_builder import some_peaks
from profile_builder import a_profile, another_cpu

Capture = pytest.CaptureFixture[str]
UNCHECKED = "No forecast has been checked on SME2 silicon yet."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nothing here changes it, except for reports that are written into it."""
    return a_run_to_forecast(tmp_path_factory.mktemp("forecast"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def phone(tmp_path: Path) -> Path:
    """The profile of a device twice as fast as the one of the run."""
    save_profile(tmp_path / "phone.json", a_profile(speed=2.0, device=another_cpu(), peaks=some_peaks()))
    return tmp_path / "phone.json"


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    save_profile(tmp_path / "laptop.json", a_profile())
    return tmp_path / "laptop.json"


def test_a_forecast_has_its_interval_and_its_doubts(run: Path, phone: Path, laptop: Path, capsys: Capture) -> None:
    assert main(["forecast", str(run), "--on", str(phone), "--from", str(laptop)]) == 0
    shown = capsys.readouterr().out
    said = " ".join(shown.split())
    assert "Forecast for Another CPU (2 cores, x86_64): an inference is expected to take 1.0" in said
    assert "90 % interval" in said
    assert "that on, 1 thread took on A CPU (2 cores, x86_64)" in said
    assert said.endswith(UNCHECKED)
    assert max(map(len, shown.splitlines())) <= 80


def test_the_profile_of_the_runs_own_device_is_found_where_it_was_calibrated(
    run: Path, phone: Path, capsys: Capture
) -> None:
    assert main(["forecast", str(run), "--on", str(phone)]) == 0
    assert "Calibrate it: `etprof devices calibrate local`" in " ".join(capsys.readouterr().out.split())
    save_profile(cached_folder(a_device_info()) / DEVICE_PROFILE, a_profile())
    assert main(["forecast", str(run), "--on", str(phone), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema_version"] == 1
    assert said["speedup"]["value"] == pytest.approx(2.0, rel=0.02)
    assert said["target"]["cpu_model"] == "Another CPU"


def test_another_variant_can_be_named(run: Path, laptop: Path, capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "forecast.json"
    assert main(["forecast", str(run), "--on", str(laptop), "--variant", "on", "--out", str(target)]) == 0
    assert json.loads(target.read_text())["variant"] == {"experiment": "on", "threads": 1}
    assert main(["forecast", str(run), "--on", str(laptop), "--variant", "onn"]) == 2
    assert "on" in capsys.readouterr().err


def test_a_profile_is_needed_and_a_broken_one_is_named(run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["forecast", str(run)]) == 2
    assert "etprof devices calibrate" in capsys.readouterr().err
    (tmp_path / "other.json").write_text("{}")
    assert main(["forecast", str(run), "--on", str(tmp_path / "other.json")]) == 1
    assert "is not the profile of a device" in capsys.readouterr().err


def test_where_nothing_can_be_said_the_exit_code_says_so(run: Path, tmp_path: Path, capsys: Capture) -> None:
    """Neither operators nor peaks."""
    save_profile(tmp_path / "empty.json", a_profile(operators=(), levels=(), device=another_cpu()))
    assert main(["forecast", str(run), "--on", str(tmp_path / "empty.json")]) == 1
    assert "peaks only" in capsys.readouterr().out


def test_a_report_has_the_section_on_request(run: Path, phone: Path, tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "report.md"
    assert main(["report", str(run), "--forecast", str(phone), "--out", str(page)]) == 0
    assert "## Forecast" in page.read_text(encoding="utf-8")
    assert main(["report", str(run), "--out", str(page)]) == 0
    assert "## Forecast" not in page.read_text(encoding="utf-8")
    assert main(["report", str(run), str(run), "--forecast", str(phone)]) == 2


def test_python_gives_the_same_as_an_object(run: Path, phone: Path, laptop: Path) -> None:
    found = etprof.forecast(run, phone, source=laptop)
    assert UNCHECKED in " ".join(str(found).split())
    assert "ms expected" in repr(found)
    assert [row["category"] for row in found.operators()] == ["Convolution", "Data Movement"]
    assert found.forecast == etprof.forecast(etprof.load_run(run), phone, source=laptop).forecast


def test_an_assistant_gets_the_same_in_words(
    run: Path, phone: Path, laptop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_folder = run.parents[1]
    for path in (phone, laptop):
        (workspace_folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(workspace_folder)
    workspace = answers.open_workspace(workspace_folder)
    said = answers.forecast(workspace, "runs/linux", phone.name, laptop.name, "")
    assert UNCHECKED in " ".join(said.split())
    with pytest.raises(etprof.EtprofError, match="outside of the workspace"):
        answers.forecast(workspace, "runs/linux", str(phone), "", "")


def test_a_calibration_refuses_what_it_cannot_do_before_it_begins(tmp_path: Path, capsys: Capture) -> None:
    assert main(["devices", "calibrate", "--out", str(tmp_path / "no" / "profile.json")]) == 2
    assert main(["devices", "calibrate", "--out", str(tmp_path / "p.json"), "--precisions", "fp64"]) == 2
    assert main(["devices", "calibrate", "--out", str(tmp_path / "p.json"), "--hide", "avx9000"]) == 2
    said = capsys.readouterr().err
    assert "is not a file in an existing folder" in said
    assert "fp64" in said
    assert "avx9000" in said
