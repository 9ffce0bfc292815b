"""This tree against an older commit of it, side by side: a large report, one trace, a run of 100 blocks, `--help`.

Both run in turn in one go, each as a process of its own with imports and all, on the same files, which the older tree
makes; what is printed is how many times faster this tree is. Run it as `python bench/since.py COMMIT`.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCKS = 50
ROUNDS = 4
# Reading one trace, in the words of each tree.
READ_OLD = (
    "from etprof.traces.etdump import read_etdump; from etprof.analysis.operators import build_operators; "
    "build_operators([read_etdump(Path(sys.argv[1]))])"
)
READ_NEW = "import etprof; etprof.read_trace(sys.argv[1]).operators()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the older commit")
    parser.add_argument("--operators", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = unpack(options.commit, folder / "old")
        trace = record(old, folder, 241, 1000)
        inspector = seconds(ROOT, ["-c", f"from executorch.devtools import Inspector; Inspector({str(trace)!r})"])
        say(f"Inspector, the trace of 1,000 inferences x 243 events: {inspector[0]:.2f} s")
        large = build_large_run(old, folder, options.operators, options.iterations)
        small = record(old, folder, 240, 10)
        out = str(folder / "out")
        compare("etprof report, 2 variants, large traces", old, ["-m", "etprof", "report", str(large), "--out", out])
        compare("one trace, from the start of the process", old, read(READ_OLD, trace), read(READ_NEW, trace))
        # A folder for each: what this tree writes, the older one need not know.
        plans = [write_plan(build_long_run(large, small, folder / tree)) for tree in ("before", "after")]
        command = ["-m", "etprof", "run", "--analysis-only", "--config"]
        compare("etprof run --analysis-only, 100 blocks", old, [*command, plans[0]], [*command, plans[1]])
        compare("etprof --help", old, ["-m", "etprof", "--help"])


def compare(what: str, old: Path, command: Sequence[str], new_command: Sequence[str] = ()) -> None:
    """The two in turn, and the fastest of each: a machine that does other things only ever adds time."""
    times: dict[Path, list[tuple[float, float]]] = {old: [], ROOT: []}
    for _ in range(ROUNDS):
        times[old].append(seconds(old, command))
        times[ROOT].append(seconds(ROOT, new_command or command))
    (before, cpu_before), (after, cpu_after) = (
        (min(wall for wall, _ in each), min(cpu for _, cpu in each)) for each in (times[old], times[ROOT])
    )
    say(
        f"{what:45} {before:6.2f} s -> {after:5.2f} s: {before / after:4.2f}x   "
        f"(CPU {cpu_before:5.2f} s -> {cpu_after:5.2f} s: {cpu_before / cpu_after:4.2f}x)"
    )


def seconds(tree: Path, arguments: Sequence[str]) -> tuple[float, float]:
    """Wall time and CPU time of a Python process that imports etprof from this tree."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed in {tree}:\n{done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read(code: str, trace: Path) -> list[str]:
    return ["-c", f"import sys; from pathlib import Path; {code}", str(trace)]


def unpack(commit: str, folder: Path) -> Path:
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def record(old: Path, folder: Path, operators: int, iterations: int) -> Path:
    model = folder / f"chain_{operators}.pte"
    for what, count in (("export", operators), ("record", iterations)):
        seconds(old, [str(old / "bench/traces.py"), "--step", what, str(model), str(count)])
    return model.with_suffix(".etdump")


def build_large_run(old: Path, folder: Path, operators: int, iterations: int) -> Path:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import reports; from pathlib import Path; "
    code += "reports.build_run(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))"
    seconds(old, ["-c", code, str(old / "bench"), str(folder), str(operators), str(iterations)])
    return folder / "run"


def build_long_run(large: Path, small: Path, many: Path) -> Path:
    """The large run's manifest with 50 blocks for each variant, each with a small trace of its own."""
    shutil.copytree(large, many, ignore=shutil.ignore_patterns("*.etdump"))
    metrics = json.loads((large / "metrics.json").read_text(encoding="utf-8"))
    results = []
    for result in metrics["results"]:
        (many / result["experiment"]).mkdir(exist_ok=True)
        for index in range(BLOCKS):
            etdump = f"{result['experiment']}/b{index}.etdump"
            os.link(small, many / etdump)
            results.append({**result, "index": index, "latency_ns": result["latency_ns"][:20], "etdump": etdump})
    (many / "metrics.json").write_text(json.dumps({**metrics, "results": results}), encoding="utf-8")
    return many


def write_plan(run_dir: Path) -> str:
    path = run_dir.with_suffix(".json")
    experiments = [{"name": "off"}, {"name": "on"}]
    plan = {"model": str(run_dir.with_name("chain.pte")), "output_root": str(run_dir), "experiments": experiments}
    path.write_text(json.dumps(plan), encoding="utf-8")
    return str(path)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
