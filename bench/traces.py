"""Reading a trace: ours against ExecuTorch's own Inspector on the same file, and how ours grows with the events.

Each measurement is a process of its own, so that its peak memory is its own. Times are from the file to per-operator
statistics, imports excluded, the best of several. Traces are recorded by the real runtime. Memory above what the
imports left is set against the size of the file: after the first read, the same without the pages of libraries' code it
brings in, and after all reads of the process, between which the heap is not given back. Needs Linux. Run it as
`python bench/traces.py`.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPERATORS = 241  # with DELEGATE_CALL and Method::execute: 243 events an inference
REPEATS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=1000, help="inferences in the trace both readers are given")
    parser.add_argument("--events", default="1e4,1e5,1e6,1e7", help="sizes at which ours alone is measured")
    parser.add_argument("--step", nargs=3, metavar=("WHAT", "FILE", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        what, file, count = options.step
        print(json.dumps(STEPS[what](Path(file), int(count))))  # noqa: T201
        return
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "chain.pte"
        run_step("export", model, OPERATORS)
        compare_with_inspector(model, options.iterations)
        measure_growth(model, [int(float(size)) for size in options.events.split(",")])


def compare_with_inspector(model: Path, iterations: int) -> None:
    trace = record(model, iterations)
    ours = best_of(trace, "ours")
    theirs = run_step("inspector", trace, 0)
    say(f"{iterations:,} inferences, {ours['events']:,.0f} events, {trace.stat().st_size / 1e6:.1f} MB")
    say(f"  Inspector  {theirs['seconds']:8.3f} s  {theirs['peak_bytes'] / 1e6:7.0f} MB")
    say(f"  etprof     {ours['seconds']:8.3f} s  {ours['peak_bytes'] / 1e6:7.0f} MB")
    say(
        f"  ratio      {theirs['seconds'] / ours['seconds']:8.0f} x  {theirs['peak_bytes'] / ours['peak_bytes']:7.1f} x"
        f"   (first read in its process: {theirs['seconds'] / ours['first_seconds']:.0f} x)"
    )


def measure_growth(model: Path, sizes: list[int]) -> None:
    say("    events      file      time   per event   peak memory  above imports, without code, after all reads / file")
    for size in sizes:
        trace = record(model, max(1, round(size / (OPERATORS + 2))))
        ours = best_of(trace, "ours")
        file_bytes = trace.stat().st_size
        say(
            f"{ours['events']:10,.0f} {file_bytes / 1e6:6.1f} MB {ours['seconds']:7.3f} s "
            f"{ours['seconds'] / ours['events'] * 1e9:8.0f} ns {ours['peak_bytes'] / 1e6:10.0f} MB "
            f"{ours['above_imports_bytes'] / file_bytes:13.2f} x "
            f"{(ours['above_imports_bytes'] - ours['code_bytes']) / file_bytes:11.2f} x "
            f"{ours['above_imports_at_last_bytes'] / file_bytes:14.2f} x"
        )
        trace.unlink()


def record(model: Path, iterations: int) -> Path:
    run_step("record", model, iterations)
    return model.with_suffix(".etdump")


def best_of(trace: Path, what: str) -> dict[str, float]:
    return min((run_step(what, trace, REPEATS) for _ in range(2)), key=lambda result: result["seconds"])


def run_step(what: str, file: Path, count: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", what, str(file), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def export_chain(path: Path, operators: int) -> dict[str, float]:
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    class Chain(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for index in range(operators):
                x = torch.sigmoid(x) if index % 2 else torch.tanh(x)
            return x

    program = torch.export.export(Chain(), (torch.randn(1, 64),))
    path.write_bytes(to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
    return {}


def record_trace(path: Path, iterations: int) -> dict[str, float]:
    import torch
    from executorch.extension.pybindings import _C

    _C._unsafe_reset_threadpool(1)
    program = _C._load_program(str(path), enable_etdump=True)
    method = program.load_method("forward")
    method.set_inputs([torch.randn(1, 64)])
    for _ in range(iterations):
        method.execute()
    program.write_etdump_result_to_file(str(path.with_suffix(".etdump")), str(path.with_suffix(".debug")))
    return {}


def read_ours(path: Path, repeats: int) -> dict[str, float]:
    from etprof.analysis.operators.operator_statistics import build_operators
    from etprof.traces.etdump import read_etdump

    before = memory_kinds()
    seconds = []
    memory: dict[str, float] = {}
    for _ in range(repeats):
        start = time.perf_counter()
        trace = read_etdump(path)
        build_operators([trace])
        seconds.append(time.perf_counter() - start)
        if not memory:
            after = memory_kinds()
            memory["peak_bytes"] = after["VmHWM"]
            memory["above_imports_bytes"] = after["VmHWM"] - before["VmHWM"]
            memory["code_bytes"] = after["RssFile"] - before["RssFile"]
        events = len(trace)
        del trace
    memory["above_imports_at_last_bytes"] = memory_kinds()["VmHWM"] - before["VmHWM"]
    return {"seconds": min(seconds), "first_seconds": seconds[0], "events": events, **memory}


def read_inspector(path: Path, _: int) -> dict[str, float]:
    from executorch.devtools import Inspector

    start = time.perf_counter()
    inspector = Inspector(etdump_path=str(path))
    statistics = [(e.perf_data.avg, e.perf_data.p50) for b in inspector.event_blocks for e in b.events if e.perf_data]
    seconds = time.perf_counter() - start
    # Of this process and of those it waited for: Inspector runs flatc.
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"seconds": seconds, "events": len(statistics), "peak_bytes": 1024 * peak}


def memory_kinds() -> dict[str, int]:
    """What the kernel says of this process's memory, in bytes; VmHWM is the highest it ever was."""
    lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if words[-1] == "kB"}


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


STEPS = {"export": export_chain, "record": record_trace, "ours": read_ours, "inspector": read_inspector}

if __name__ == "__main__":
    main()
