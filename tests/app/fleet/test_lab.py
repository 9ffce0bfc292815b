"""Real daemons, an emulated SME2 among them, on a real scheduler with worker processes: from a model to one report."""

import shutil
from dataclasses import replace
from html import unescape
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from builders import a_plan
from etprof.app.devices import reach_device
from etprof.app.fleet.runs import FleetRequest, run_fleet
from etprof.app.fleet.words import FleetWords
from etprof.app.reporting import build_combined
from etprof.app.runs import validate_run
from etprof.core.extensions import best_extension
from etprof.core.kernel_evidence import Executed
from etprof.core.run import Session
from etprof.core.units import NO_TIMES
from etprof.devices.kind import DeviceRequest
from etprof.reports.combined import render_html
from etprof.runner.toolchain import compiler_path
from etprof.store.plan_file import save_plan
from etprof.store.session_file import load_session
from fleet_etprof import TestFleet
from lab_daemons import LabDevice, running_lab
from parts import need
from real_devices import emulator

__all__ = ["emulator"]

pytestmark = [pytest.mark.alone, pytest.mark.exhaustive]


def offer(fleet: TestFleet, device: LabDevice, folder: Path, *options: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    fleet.start_etprof(
        "-m", "etprof", "fleet", "worker", "--scheduler", fleet.address, "--spool", str(fleet.spool),
        "--device", device.name, "--device-folder", str(folder), *options, offers=1, **device.environment,
    )  # fmt: skip


def test_six_daemons_one_of_them_with_emulated_sme2(
    fleet: TestFleet, toy_cnn: Path, emulator: str, tmp_path: Path
) -> None:
    need(compiler_path(), "there is no C++ compiler")
    need(find_spec("executorch"), "executorch is not installed")
    model = tmp_path / "artifacts"
    shutil.copytree(toy_cnn, model)
    plan = a_short_plan(model)
    with running_lab(tmp_path / "lab") as devices:
        assert len(devices) == 6
        first, *others = devices
        offer(fleet, first, tmp_path / "emulated", "--emulator", emulator)
        for number, device in enumerate(others):
            offer(fleet, device, tmp_path / f"device{number}")
        told: list[str] = []
        ordinary = run_fleet(
            [plan], FleetRequest(tmp_path / "out", fleet.address, "not sme2", command="test"), FleetWords(told.append)
        )
        emulated = run_fleet(
            [model / "toy_cnn_xnnpack_fp32.pte"],
            FleetRequest(tmp_path / "sme2", fleet.address, "sme2", command="test"),
            FleetWords(told.append),
        )
    for outcome in (ordinary, emulated):
        assert [(r.device, r.reason, r.failed_blocks) for r in outcome.results if r.reason or r.failed_blocks] == []
    assert len(ordinary.folders) == 5
    sessions = [load_session(folder) for folder in (*ordinary.folders, *emulated.folders)]
    assert sorted(session.device.name for session in sessions) == sorted(device.name for device in devices)
    assert [validate_run(folder, deep=True) for folder in ordinary.folders] == [[]] * 5
    refuse_overlaps(sessions)
    assert "sme2" in sessions[-1].device.features
    assert not sessions[-1].device.times_are_real
    assert ordinary.report is not None
    assert len(ordinary.report.gains) == 5
    refuse_times_of_the_emulated((*ordinary.folders, *emulated.folders))
    # Nothing of etprof stays on a device.
    assert [path for folder in tmp_path.glob("device*") for path in folder.iterdir()] == []


def refuse_times_of_the_emulated(folders: tuple[Path, ...]) -> None:
    """On one page with the others, it stands with what executed SME2 and without a latency."""
    report = build_combined(folders, "6 runs of a fleet")
    assert len(report.gains) == 6
    (gain,) = [gain for gain in report.gains if gain.extension == "SME2"]
    assert (gain.times, gain.gain, gain.verdict) == (("n/a", "n/a"), "n/a", NO_TIMES)
    _, last = report.reports[-1]
    (shown,) = [each.evidence for each in last.variants if each.evidence and each.evidence.shown]
    assert any(operator.executed is Executed.YES for operator in shown.operators)
    assert shown.verdict in unescape(render_html(report))


def a_short_plan(model: Path) -> Path:
    """Two rounds with the best extension of this machine hidden and shown."""
    info = reach_device(DeviceRequest("local"))
    plan = a_plan(model / "run", blocks=2)
    off, on = plan.experiments
    off = replace(off, hide_isa=best_extension(info.architecture, info.features).hide_isa)
    path = model / "plan.json"
    save_plan(path, replace(plan, model=model / "toy_cnn_xnnpack_fp32.pte", experiments=(off, on)))
    return path


def refuse_overlaps(sessions: list[Session]) -> None:
    """All of them are on one machine: one measured after the other."""
    spans = sorted((min(starts), max(starts)) for starts in ([r.started_at for r in s.results] for s in sessions))
    for (_, ended), (began, _) in pairwise(spans):
        assert ended <= began
