"""The native runner's sampler on this machine: real kernels, real threads, real time."""

import platform
from pathlib import Path

import numpy as np
import pytest

from etprof.analysis.kernels.evidence import build_evidence
from etprof.core.kernel_evidence import Executed, KernelEvidence
from etprof.core.loaded_run import SampledBlock
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.samples import KernelSamples
from etprof.runner.build import NativeRunner
from etprof.runner.cpu_features import present_features
from etprof.traces.etdump import read_etdump
from etprof.traces.kernel_samples import read_kernel_samples
from parts import need
from runner_block import Block, run_block

# They measure.
pytestmark = pytest.mark.alone


def sample(runner: NativeRunner, model: Path, folder: Path, *flags: str) -> tuple[Block, KernelSamples]:
    path = folder / "block.kernels"
    block = run_block(
        runner.command, model, folder, "--traced_executions", "5", "--kernel_samples", str(path), *flags
    )  # fmt: skip
    assert block.exit_code == 0, block.stderr
    return block, read_kernel_samples(path)


def prove(block: Block, samples: KernelSamples) -> KernelEvidence:
    return build_evidence(
        Variant("variant", block.result["threads"]),
        [SampledBlock(samples, read_etdump(block.etdump))],
        seen=block.result["features_seen"],
        hidden=block.result["features_hidden"],
    )


def test_avx512_is_met_when_shown_and_never_when_hidden(
    runner: NativeRunner, kernel_models: Path, tmp_path: Path
) -> None:
    need(platform.machine() == "x86_64" and "avx512f" in present_features(), "this CPU has no AVX-512")
    model = kernel_models / "kinds_fp32.pte"
    shown = prove(*sample(runner, model, tmp_path / "shown"))
    hidden = prove(*sample(runner, model, tmp_path / "hidden", "--hide_isa", "avx512"))
    assert "executed: yes" in shown.verdict
    assert "executed: no" in hidden.verdict
    compute = [row for row in shown.operators if row.name.startswith(("Convolution (NHWC, F32) IGEMM", "Fully"))]
    assert len(compute) == 3
    assert all(row.executed is Executed.YES and "AVX-512" in row.instructions for row in compute)
    assert hidden.stray == 0
    assert sum(row.samples for row in hidden.operators) > 300
    assert all(row.executed is not Executed.YES for row in hidden.operators)


def test_samples_land_in_the_operator_that_dominates(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    block, samples = sample(runner, kernel_models / "dominated.pte", tmp_path)
    found = prove(block, samples)
    trace = read_etdump(block.etdump)
    time_ns: dict[OperatorId, int] = {}
    for event in np.flatnonzero((trace.run >= 0) & (trace.position >= 0)).tolist():
        identity = trace.identity(event)
        time_ns[identity] = time_ns.get(identity, 0) + int(trace.duration_ns[event])
    largest = max(time_ns, key=lambda identity: time_ns[identity])
    total, counted = sum(time_ns.values()), sum(row.samples for row in found.operators)
    assert time_ns[largest] / total > 0.5
    for row in found.operators:
        # Shares by samples and shares by the clock are two measurements of the same thing.
        assert row.samples / counted == pytest.approx(time_ns[row.identity] / total, abs=0.08)
    assert found.outside < 0.1 * found.samples


@pytest.mark.portable
def test_worker_threads_are_sampled_too(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    block, samples = sample(runner, kernel_models / "dominated.pte", tmp_path, "--cpu_threads", "2")
    assert len(samples.threads) == 2
    assert samples.main_thread in samples.threads
    ours = [i for i, place in enumerate(samples.locations) if "xnnpack" in samples.libraries[place.library]]
    computing = np.isin(samples.location, ours)
    per_thread = [int((computing & (samples.thread == t)).sum()) for t in range(2)]
    assert min(per_thread) > 50
    assert prove(block, samples).sampled_threads == 2


def test_the_rate_is_what_was_asked_for(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    for rate in (1000, 4000):
        _, samples = sample(
            runner, kernel_models / "dominated.pte", tmp_path / str(rate), "--sample_rate", str(rate)
        )  # fmt: skip
        ticks = len(samples) + samples.dropped + samples.overruns
        seconds = (samples.end_ns - samples.start_ns) / 1e9
        assert ticks / seconds == pytest.approx(rate, rel=0.05)
        assert np.all(np.diff(np.sort(samples.time_ns)) >= 0)
        assert samples.start_ns <= samples.time_ns.min() <= samples.time_ns.max() <= samples.end_ns


@pytest.mark.portable
def test_a_full_buffer_counts_what_it_drops(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    _, samples = sample(runner, kernel_models / "dominated.pte", tmp_path, "--sample_buffer", "50")
    assert len(samples) == 50
    assert samples.dropped > 100


def test_sampling_goes_on_until_there_are_enough(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    block, samples = sample(runner, kernel_models / "kinds_fp32.pte", tmp_path, "--sample_ms", "500")
    assert len(block.result["traced_ns"]) == read_etdump(block.etdump).run_count > 5
    assert (samples.end_ns - samples.start_ns) / 1e6 == pytest.approx(500, abs=150)


def test_nothing_on_the_machine_is_named_in_the_file(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    _, samples = sample(runner, kernel_models / "kinds_fp32.pte", tmp_path)
    assert not any("/" in name for name in samples.libraries)


@pytest.mark.portable
def test_samples_without_a_trace_are_refused(runner: NativeRunner, kernel_models: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.kernels"
    block = run_block(runner.command, kernel_models / "kinds_fp32.pte", tmp_path, "--kernel_samples", str(path))
    assert block.exit_code == 2
    assert "--kernel_samples needs traced iterations" in block.stderr
    assert not path.exists()


def test_samples_that_cannot_be_kept_are_refused_before_anything_runs(
    runner: NativeRunner, kernel_models: Path, tmp_path: Path
) -> None:
    block = run_block(
        runner.command, kernel_models / "kinds_fp32.pte", tmp_path, "--traced_executions", "2",
        "--kernel_samples", str(tmp_path / "nowhere" / "x.kernels"),
    )  # fmt: skip
    assert block.exit_code == 9
    assert "Cannot write" in block.result["error"]
    assert block.result["latency_ns"] == []
