"""Three minutes of kills, full disks, lost devices, hostile answers and two at once: nothing that was saved is lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from etprof.core.layout import METRICS
from parts import need
from scripted_device import a_runnable_plan, run_scripted
from scripted_etprof import find_processes, wait_until
from soak import Life, Soak, render, soak

MINUTES = 3.0


@pytest.mark.exhaustive
def test_nothing_is_lost_in_three_minutes() -> None:
    need(sys.platform == "linux", "processes are found in /proc")
    done = soak(MINUTES, seed=int.from_bytes(os.urandom(4)))
    assert done.lost == [], render(done, MINUTES)
    for what in ("SIGKILL", "SIGTERM", "SIGHUP"):
        assert done.counts[f"ended by {what}"], render(done, MINUTES)
    assert done.counts["runs finished"] > 3, render(done, MINUTES)


def test_what_is_lost_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(sys.platform == "linux", "processes are found in /proc")
    plan, done = a_runnable_plan(tmp_path, blocks=2), Soak(Random(0))
    run_scripted(plan)
    life = Life(done, plan, tmp_path, has_disk=False)
    life.check()
    assert (len(life.kept), done.lost) == (4, [])
    metrics = plan.output_root / METRICS
    content = json.loads(metrics.read_text())
    content["results"][0]["latency_ns"][0] += 1
    del content["results"][1]
    metrics.write_text(json.dumps(content))
    (plan.output_root / "off" / "off_t1_b2.etdump").write_bytes(b"another trace")
    with subprocess.Popen(["sh", "-c", "read -r _", plan.output_root], stdin=subprocess.PIPE) as left:
        # The system shows a command line a moment after the process has begun.
        wait_until(lambda: find_processes(plan.output_root), "the process is listed")
        monkeypatch.setattr("soak.PATIENCE_S", 0.1)
        life.check()
        os.kill(left.pid, signal.SIGKILL)
    kinds = sorted(text.rpartition(" ")[2] for text in done.lost)
    assert kinds == ["another", "another", "gone", "running"], done.lost
