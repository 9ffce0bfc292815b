"""The best extension of a CPU, whichever that is: chosen by etprof, executed when shown, and not when hidden."""

import json
import os
import sys
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.core.extensions import best_extension
from etprof.store.session_file import load_session
from parts import need

# It samples real kernels.
pytestmark = [pytest.mark.portable, pytest.mark.usefixtures("runner")]

# Programs that QEMU executes get their CPU from the environment: where tests do, one machine has three CPUs.
EMULATED = {"max": "SME2", "max,sme=off": "i8mm and dot product", "cortex-a76": "dot product"}
CPUS = EMULATED if "QEMU_CPU" in os.environ else {"": ""}


@pytest.mark.exhaustive
@pytest.mark.parametrize("cpu", CPUS)
def test_the_best_extension_executes_when_it_is_shown_and_only_then(
    cpu: str, cache: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(sys.platform == "linux", "kernels are sampled on Linux only")
    monkeypatch.setenv("ETPROF_CACHE", str(cache))
    monkeypatch.setenv("QEMU_CPU", cpu)
    run = tmp_path / "run"
    sampling = ("--blocks", "1", "--seconds", "4", "--output-root", str(run))
    said = run_etprof("kernels", "run", str(models / "int8.pte"), *sampling)
    device = load_session(run).device
    best = best_extension(device.architecture, device.features)
    assert best.label == (CPUS[cpu] or best.label)
    report = json.loads((run / "analysis_summary.json").read_text())
    hidden, shown = sorted((variant["evidence"] for variant in report["variants"]), key=lambda each: each["shown"])
    proven = [row for row in shown["operators"] if row["executed"] == "yes"]
    assert {"Convolution", "GEMM"} & {row["category"] for row in proven}
    kernels = [{kernel["instruction_class"] for kernel in row["kernels"]} for row in proven]
    assert all(classes & {*best.classes, best.label} for classes in kernels), kernels
    # Of tens of thousands of samples that QEMU gave, none hit one of these two extensions' instructions themselves.
    if cpu not in ("max,sme=off", "cortex-a76"):
        assert all(set(row["instructions"]) & set(best.classes) for row in proven)
    assert not any(row["executed"] == "yes" for row in hidden["operators"])
    assert (hidden["stray"], hidden["samples"] > 100) == (0, True)
    assert f"{best.label} executed: yes" in " ".join(said.split())
    assert (run / "report.html").is_file()
    # The runner was built before, by the fixture.
    assert "building the native runner" not in said
