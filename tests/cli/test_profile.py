"""`etprof profile` in the words of its options."""

from pathlib import Path

from conftest import run_etprof
from etprof.store.session_file import load_session


def test_what_is_asked_for_on_the_command_line_is_what_is_run(toy_cnn: Path, tmp_path: Path) -> None:
    model = toy_cnn / "toy_cnn_xnnpack_fp32.pte"
    options = ["--runs", "4", "--threads", "2", "--blocks", "1", "--max-blocks", "1", "--kernels"]
    run_etprof("profile", str(model), "--output-root", str(tmp_path / "run"), *options)
    session = load_session(tmp_path / "run")
    timed = [r for r in session.results if not r.experiment.endswith("_kernels")]
    sampled = [r for r in session.results if r.experiment.endswith("_kernels")]
    assert len(timed) == len(sampled) == 2
    assert all(len(r.latency_ns) == 4 and len(r.traced_ns) == 2 and r.threads_in_force == 2 for r in timed)
    assert all(r.latency_ns == () and r.samples for r in sampled)
