"""How long the report of a large run takes, and how much memory: two variants of 1,000 operators and 1,000 iterations.

The traces are recorded by the real runtime; only the untraced latencies are made up, from a fixed seed. The measured
process is `etprof report`: reading the traces, the whole analysis, every format. Run it as `python bench/reports.py`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from etprof.core.plan import Experiment, Pair, Plan, Program, Schedule
from etprof.core.run import BlockResult, DeviceInfo, ProgramRecord, Session
from etprof.store.session_file import save_session

LIMIT_SECONDS, LIMIT_BYTES, LIMIT_HTML = 2.0, 500e6, 3e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_dir = build_run(folder, options.operators, options.iterations)
        size = sum(path.stat().st_size for path in run_dir.rglob("*.etdump")) / 1e6
        say(f"2 variants, {options.operators:,} operators, {options.iterations:,} iterations, {size:.0f} MB of traces")
        measured = [measure(run_dir, folder / "out") for _ in range(options.repeats)]
        seconds, peak = min(m[0] for m in measured), max(m[1] for m in measured)
        say(f"  etprof report  {seconds:6.2f} s (limit {LIMIT_SECONDS:.0f})  {peak / 1e6:5.0f} MB (limit 500)")
        for path in sorted((folder / "out").iterdir()):
            if path.is_file():
                say(f"  {path.name:24} {path.stat().st_size / 1e6:6.2f} MB")
        html = (folder / "out" / "report.html").stat().st_size
        sys.exit(0 if seconds < LIMIT_SECONDS and peak < LIMIT_BYTES and html < LIMIT_HTML else 1)


def build_run(folder: Path, operators: int, iterations: int) -> Path:
    run_dir = folder / "run"
    model = folder / "chain.pte"
    random = np.random.default_rng(0)
    step("export", model, operators)
    variants = (Experiment("off", runs=iterations, traced_runs=iterations), Experiment("on", runs=iterations))
    results = []
    for number, variant in enumerate(variants):
        step("record", model, iterations)
        (run_dir / variant.name).mkdir(parents=True)
        model.with_suffix(".etdump").rename(run_dir / variant.name / "trace.etdump")
        times = random.lognormal(15.4 - number / 2, 0.02, iterations).astype(int).tolist()
        results.append(
            BlockResult(
                experiment=variant.name,
                threads=1,
                index=0,
                runner="native",
                latency_ns=tuple(times),
                etdump=f"{variant.name}/trace.etdump",
            )
        )
    session = Session(
        plan=Plan(model, run_dir, variants, (Pair("off", "on"),), Schedule(blocks=1)),
        device=DeviceInfo("this machine", "Linux", "x86_64", "a CPU", 1, ()),
        programs=(ProgramRecord(Program(model), tuple(each.name for each in variants), model_sha256=""),),
        versions={},
        command="bench/reports.py",
        started_at="2026-01-01T00:00:00+00:00",
        results=tuple(results),
    )
    save_session(run_dir, session)
    return run_dir


def step(what: str, model: Path, count: int) -> None:
    command = [sys.executable, str(Path(__file__).with_name("traces.py")), "--step", what, str(model), str(count)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=1800)


def measure(run_dir: Path, out: Path) -> tuple[float, float]:
    """Seconds and peak resident bytes of the command, imports and all."""
    watched = (
        "import json, resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(json.dumps(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))"
    )
    command = [sys.executable, "-m", "etprof", "report", str(run_dir), "--out", str(out)]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", watched, *command], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, json.loads(done.stdout) * unit


def say(text: str) -> None:
    print(text)  # noqa: T201


if __name__ == "__main__":
    main()
