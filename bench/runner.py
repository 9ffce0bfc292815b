"""What the runners themselves cost: native and Python against the tightest possible loop, and ETDump's cost beside it.

Every block is a process of its own; the kinds of block take turns, so that a drift of the machine meets all of them.
Run it on a machine that does nothing else: `.venv/bin/python bench/runner.py [--blocks 20]`. It ends with exit code 1
when the native runner's own cost is above one hundredth.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from etprof.runner.build import ensure_runner
from etprof.runner.sdk import installed_sdk
from etprof.runner.toolchain import require_compiler

WARMUP, ITERATIONS = 100, 300
ALLOWED_COST = 0.01
_EXPORT = """
import sys, torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
torch.manual_seed(0)
layers = [torch.nn.Conv2d(3, 32, 3, padding=1), *(torch.nn.Conv2d(32, 32, 3, padding=1) for _ in range(4))]
program = torch.export.export(torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 40, 40),), strict=False)
lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
open(sys.argv[1], "wb").write(lowered.buffer)
open(sys.argv[2], "wb").write(torch.ones(1, 3, 40, 40).numpy().tobytes())
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=20, help="processes of each kind")
    blocks = parser.parse_args().blocks
    with tempfile.TemporaryDirectory() as folder:
        kinds = build_kinds(Path(folder))
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for turn in range(blocks):
            # Forwards and backwards, so that no kind always runs after the same one.
            for name in sorted(kinds, reverse=turn % 2 == 1):
                times[name].append(kinds[name]())
    return report(times)


def build_kinds(folder: Path) -> dict[str, Callable[[], float]]:
    model, inputs = folder / "model.pte", folder / "input.bin"
    subprocess.run([sys.executable, "-c", _EXPORT, model, inputs], check=True, capture_output=True, timeout=300)
    native = ensure_runner().command
    python = (sys.executable, "-m", "etprof.runner.python_runner")
    loop = build_tight_loop(folder)
    return {
        "tight loop": partial(run_tight_loop, loop, model),
        "native": partial(run_runner, native, model, inputs, folder, "latency_ns"),
        "native, traced": partial(run_runner, native, model, inputs, folder, "traced_ns"),
        "python": partial(run_runner, python, model, inputs, folder, "latency_ns"),
    }


def build_tight_loop(folder: Path) -> Path:
    sdk, program = installed_sdk(), folder / "tight_loop"
    include = sdk.prefix / "include"
    command = [
        require_compiler().path, "-std=c++17", "-O3", "-DC10_USING_CUSTOM_GENERATED_MACROS",
        "-DET_EVENT_TRACER_ENABLED", "-isystem", str(include),
        "-isystem", str(include / "executorch/runtime/core/portable_type/c10"),
        str(Path(__file__).with_name("tight_loop.cpp")), "-o", str(program), f"-L{sdk.prefix / 'lib'}",
        f"-Wl,-rpath,{sdk.prefix / 'lib'}", "-lexecutorch", "-lexecutorch_threadpool", "-ldl",
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=120)
    return program


def run_tight_loop(program: Path, model: Path) -> float:
    command = [str(program), str(installed_sdk().prefix / "lib"), str(model), str(WARMUP), str(ITERATIONS)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def run_runner(command: tuple[str, ...], model: Path, inputs: Path, folder: Path, field: str) -> float:
    """Nanoseconds an iteration: the mean, since that is what the tight loop can tell."""
    timed, traced = (ITERATIONS, 0) if field == "latency_ns" else (0, ITERATIONS)
    flags = [
        "--model_path", str(model), "--inputs", str(inputs), "--cpu_threads", "1", "--warmup", str(WARMUP),
        "--num_executions", str(timed), "--traced_executions", str(traced),
        "--etdump_path", str(folder / "bench.etdump"), "--result_path", str(folder / "result.json"),
    ]  # fmt: skip
    subprocess.run([*command, *flags], check=True, capture_output=True, timeout=120)
    times: list[int] = json.loads((folder / "result.json").read_bytes())[field]
    return statistics.mean(times)


def report(times: dict[str, list[float]]) -> int:
    base = statistics.median(times["tight loop"])
    say("                 median of blocks    spread    against the tight loop")
    for name, blocks in times.items():
        median = statistics.median(blocks)
        spread = statistics.median(abs(b - median) for b in blocks) / median
        ratio = statistics.median(b / t for b, t in zip(blocks, times["tight loop"], strict=True)) - 1
        say(f"  {name:<15}{median / 1e6:12.4f} ms  {spread:10.2%}  {ratio:+12.2%}")
    cost = statistics.median(n / t for n, t in zip(times["native"], times["tight loop"], strict=True)) - 1
    verdict = "holds" if cost <= ALLOWED_COST else "is broken"
    say(f"at most {ALLOWED_COST:.0%} of a {base / 1e6:.2f} ms model: {verdict} ({cost:+.2%})")
    return 0 if cost <= ALLOWED_COST else 1


def say(text: str) -> None:
    print(text)  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main())
