"""Models with state from a workload file to a report: on this machine, over ssh and on an emulated CPU."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, run_etprof
from etprof.core.plan import TIMING
from etprof.export.request import Quantization
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session
from etprof.traces.etdump import read_etdump
from etprof.traces.steps_file import read_steps
from parts import need
from shared_exports import SharedExports
from sshd import HOST

GROUPED = Quantization("linear-dynamic", weight_bits=4, group_size=32)
WORKLOADS = ROOT / "model_profiling" / "configs" / "workloads"
MODELS: dict[str, Callable[[SharedExports], Path]] = {
    "tiny_video": lambda exported: exported("tiny_video").pte,
    "tiny_encoder_decoder": lambda exported: exported("tiny_encoder_decoder").pte,
    "tiny_decoder": lambda exported: exported("tiny_decoder").pte,
    "tiny_decoder in 4 bits": lambda exported: exported("tiny_decoder", quantization=GROUPED).pte,
}
# One of them here and over ssh; the others, and emulated ones, only where everything is tried.
TRIED = [
    pytest.param(
        model, device, marks=() if (model, device != "emulated") == ("tiny_video", True) else pytest.mark.exhaustive
    )
    for model in MODELS
    for device in ("local", "ssh", "emulated")
]


@pytest.mark.parametrize(("model", "device"), TRIED)
def test_a_model_with_state_runs_from_workload_file_to_report(
    model: str, device: str, request: pytest.FixtureRequest, exported: SharedExports, tmp_path: Path
) -> None:
    need(compiler_path(), "there is no C++ compiler")
    run, flags = tmp_path / "run", ["--runner", "native"]
    if device == "ssh":
        request.getfixturevalue("sshd")
        folder = request.getfixturevalue("device_folder")
        flags = ["--device", f"ssh:{HOST}", "--device-folder", str(folder)]
    if device == "emulated":
        flags = ["--device", "emulated", "--emulator", request.getfixturevalue("emulator")]
    file = WORKLOADS / f"{model.partition(' ')[0]}.json"
    quick = {"num_runs": 2, "traced_runs": 1, "warmup": {"min": 2, "max": 2}}
    if device == "emulated":
        # Each inference takes seconds there.
        content = json.loads(file.read_text())
        shorter = [{**phase, "repeats": min(phase.get("repeats", 1), 2)} for phase in content["phases"]]
        file = tmp_path / "shorter.json"
        file.write_text(json.dumps({"phases": shorter}))
        quick = {"num_runs": 1, "traced_runs": 1, "warmup": {"min": 0, "max": 0}}
    plan = {
        "model": str(MODELS[model](exported)),
        "output_root": str(run),
        "experiments": [{"name": "on", **quick}],
        "schedule": {"blocks": 1, "retries": 0},
        "workload": str(file),
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    run_etprof("run", str(tmp_path / "plan.json"), *flags)

    session = load_session(run)
    workload = session.programs[0].program.workload
    assert workload is not None
    assert len(session.programs[0].state) > 0
    for result in session.results:
        experiment = session.plan.experiment(result.experiment)
        assert (result.error, experiment.mode) == ("", TIMING)
        times = read_steps(run / result.steps)
        assert times.shape == (experiment.runs, workload.step_count)
        assert (times.sum(1) <= result.latency_ns).all()
        assert result.sequences_agree is (None if device == "emulated" else True)
        traced = experiment.traced_runs * len(workload.traced_steps)
        assert read_etdump(run / result.etdump).run_count == traced
    report = json.loads((run / "analysis_summary.json").read_text())
    assert [row["name"] for row in report["phases"]["rows"] if not row["is_whole"]] == [p.name for p in workload.phases]
