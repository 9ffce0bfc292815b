"""What the runners themselves cost: native and Python against the tightest possible loop, and ETDump's cost beside it.

Every block is a process of its own; the kinds of block take turns, so that a drift of the machine meets all of them.
Run it on a machine that does nothing else: `.venv/bin/python bench/runner.py [--blocks 20]`. It ends with exit code 1
when the native runner's own cost is above one hundredth, or that of recording the steps of a workload above one
hundredth of a step of 0.2 ms. What lies between two steps is all that a runner does for one: it sets the inputs, and
writes down a time.
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
from etprof.runner.planned_workload import PlannedInput, PlannedPhase, PlannedWorkload, render_workload
from etprof.runner.sdk import installed_sdk
from etprof.runner.toolchain import require_compiler
from etprof.traces.steps_file import read_steps

WARMUP, ITERATIONS = 100, 300
# A workload's, whose steps take about 0.2 ms.
STEPS, SEQUENCES = 500, 4
STEP_MS = 0.2
ALLOWED_COST = 0.01
_EXPORT = """
import sys, torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
torch.manual_seed(0)
more = int(sys.argv[3])
layers = [torch.nn.Conv2d(3, 32, 3, padding=1), *(torch.nn.Conv2d(32, 32, 3, padding=1) for _ in range(more))]
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
        steps = build_step_kinds(Path(folder))
        gaps: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
        for turn in range(blocks):
            # Forwards and backwards, so that no kind always runs after the same one.
            for name in sorted(kinds, reverse=turn % 2 == 1):
                times[name].append(kinds[name]())
            for name, run in steps.items():
                gaps[name].append(run())
    return max(report(times), report_steps(gaps))


def build_kinds(folder: Path) -> dict[str, Callable[[], float]]:
    model, inputs = export(folder, layers=4)
    native = ensure_runner().command
    python = (sys.executable, "-m", "etprof.runner.python_runner")
    loop = build_tight_loop(folder)
    return {
        "tight loop": partial(run_tight_loop, loop, model),
        "native": partial(run_runner, native, model, inputs, folder, "latency_ns"),
        "native, traced": partial(run_runner, native, model, inputs, folder, "traced_ns"),
        "python": partial(run_runner, python, model, inputs, folder, "latency_ns"),
    }


def export(folder: Path, *, layers: int) -> tuple[Path, Path]:
    model, inputs = folder / f"model_{layers}.pte", folder / "input.bin"
    command = [sys.executable, "-c", _EXPORT, str(model), str(inputs), str(layers)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return model, inputs


def build_step_kinds(folder: Path) -> dict[str, Callable[[], tuple[float, float]]]:
    model, inputs = export(folder, layers=1)
    phase = PlannedPhase("steps", "forward", (PlannedInput((1, 3, 40, 40), 0),), STEPS)
    workload = folder / "steps.workload"
    workload.write_bytes(render_workload(PlannedWorkload((phase,), inputs.read_bytes())))
    commands = {"native": ensure_runner().command, "python": (sys.executable, "-m", "etprof.runner.python_runner")}
    return {name: partial(run_steps, command, model, workload, folder) for name, command in commands.items()}


def run_steps(command: tuple[str, ...], model: Path, workload: Path, folder: Path) -> tuple[float, float]:
    """Nanoseconds of a step, and from the end of one to the start of the next in the sequence with the least of it.

    What other processes do meanwhile is no cost of the runner's.
    """
    flags = [
        "--model_path", str(model), "--workload", str(workload), "--steps_path", str(folder / "bench.steps"),
        "--cpu_threads", "1", "--warmup", "1", "--num_executions", str(SEQUENCES),
        "--result_path", str(folder / "result.json"),
    ]  # fmt: skip
    subprocess.run([*command, *flags], check=True, capture_output=True, timeout=120)
    steps = read_steps(folder / "bench.steps")
    sequences = json.loads((folder / "result.json").read_bytes())["latency_ns"]
    gaps = [(whole - int(each.sum())) / STEPS for whole, each in zip(sequences, steps, strict=True)]
    return float(statistics.median(steps.ravel().tolist())), min(gaps)


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


def report_steps(gaps: dict[str, list[tuple[float, float]]]) -> int:
    for name, blocks in gaps.items():
        step, gap = (statistics.median(each) for each in zip(*blocks, strict=True))
        say(f"  {name}: {gap:.0f} ns between steps of {step / 1e6:.3f} ms")
    cost = statistics.median(gap for _, gap in gaps["native"]) / (STEP_MS * 1e6)
    verdict = "holds" if cost <= ALLOWED_COST else "is broken"
    say(f"at most {ALLOWED_COST:.0%} of a {STEP_MS} ms step to record it: {verdict} ({cost:+.2%})")
    return 0 if cost <= ALLOWED_COST else 1


def say(text: str) -> None:
    print(text)  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main())
