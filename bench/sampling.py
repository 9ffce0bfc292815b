"""What sampling costs: sampled and unsampled traced iterations of one model, in turn, as a ratio with its interval.

Run: python bench/sampling.py MODEL.pte [ROUNDS]     the native runner is built if it is not there
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from etprof.analysis.kernels.evidence import build_evidence
from etprof.core.loaded_run import SampledBlock
from etprof.core.plan import Variant
from etprof.runner.build import ensure_runner
from etprof.traces.etdump import read_etdump
from etprof.traces.kernel_samples import read_kernel_samples

MAX_COST = 0.03
MAX_ANALYSIS_S = 1.0
ITERATIONS = 150


def run_block(model: Path, folder: Path, rate_hz: int) -> float:
    """The median of the traced iterations of one process, in nanoseconds; a rate of 0 does not sample."""
    inputs = ",".join(str(path) for path in sorted(model.parent.glob(f"{model.stem}.input_*.bin")))
    sampling = ["--kernel_samples", str(folder / "b.kernels"), "--sample_rate", str(rate_hz), "--sample_ms", "0"]
    command = [
        *ensure_runner().command, "--model_path", str(model), "--inputs", inputs, "--cpu_threads", "1",
        "--warmup", "10", "--num_executions", "0", "--traced_executions", str(ITERATIONS),
        "--etdump_path", str(folder / "b.etdump"), "--result_path", str(folder / "r.json"),
        *(sampling if rate_hz else ()),
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=300)
    times: list[int] = json.loads((folder / "r.json").read_bytes())["traced_ns"]
    return statistics.median(times)


def measure_cost(model: Path, folder: Path, rounds: int, rate_hz: int) -> tuple[float, float, float]:
    """Median and 95 % bootstrap interval of sampled / unsampled - 1, over rounds in which the order turns round."""
    ratios = []
    for number in range(rounds):
        order = (0, rate_hz) if number % 2 else (rate_hz, 0)
        times = {rate: run_block(model, folder, rate) for rate in order}
        ratios.append(times[rate_hz] / times[0] - 1)
    generator = np.random.default_rng(0)
    medians = np.median(generator.choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975]).tolist()
    return statistics.median(ratios), low, high


def measure_analysis(model: Path, folder: Path) -> float:
    """Seconds to analyse a million samples, made of real ones over and over."""
    run_block(model, folder, 4000)
    samples, trace = read_kernel_samples(folder / "b.kernels"), read_etdump(folder / "b.etdump")
    pick = np.arange(1_000_000) % len(samples)
    million = replace(
        samples, time_ns=samples.time_ns[pick], location=samples.location[pick], thread=samples.thread[pick]
    )
    start = time.perf_counter()
    build_evidence(Variant("bench", 1), [SampledBlock(million, trace)])
    return time.perf_counter() - start


def main(model: Path, rounds: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cost, low, high = measure_cost(model, folder, rounds, 1000)
        seconds = measure_analysis(model, folder)
    interval = f"{low:+.2%} to {high:+.2%}, {rounds} pairs"
    sys.stdout.write(f"sampling at 1 kHz costs {cost:+.2%} ({interval}); limit {MAX_COST:.0%}\n")
    sys.stdout.write(f"a million samples are analysed in {seconds:.2f} s; limit {MAX_ANALYSIS_S:g} s\n")
    return 0 if cost <= MAX_COST and seconds <= MAX_ANALYSIS_S else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20))
