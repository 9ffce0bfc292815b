"""A program that keeps the runner's contract, or breaks it on request, which no real one does.

Usage: python scripted_runner.py [--behave HOW] [--latency_ms X] <the flags of any runner>
"""

import argparse
import hashlib
import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

from etdump_builder import Event, build_etdump


def main() -> int:
    options = _parse()
    if options.count_file:
        with Path(options.count_file).open("a") as count:
            count.write(f"{options.result_path.stem}\n")
    sys.stderr.write(f"scripted runner, about to: {options.behave}\n")
    if options.behave == "hang":
        time.sleep(60)
    if options.behave == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if options.behave == "refuse":
        sys.stderr.write("error: this model needs a newer runtime\n")
        return 3
    if options.behave == "cannot load":
        options.result_path.write_text(json.dumps({**_result(options), "error": "The backend is not registered."}))
        return 6
    if options.behave == "interrupt" and options.etdump_path.stem.endswith("_b2"):
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(30)
    if options.behave == "fill the disk":
        return _fill_the_disk(options.etdump_path)
    options.etdump_path.write_bytes(_trace(options))
    if options.kernel_samples:
        _write_samples(options)
    if options.steps_path:
        _write_steps(options)
    options.result_path.write_text("not JSON at all" if options.behave == "garbage" else json.dumps(_result(options)))
    return 0


def _fill_the_disk(path: Path) -> int:
    try:
        with path.open("wb", buffering=0) as trace:
            while trace.write(bytes(4096)):
                pass
    except OSError as error:
        sys.stderr.write(f"error: {path.name}: {error.strerror}\n")
    return 5


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in (
        "model_path",
        "inputs",
        "hide_isa",
        "load_options",
        "page_cache",
        "exec_clock",
        "method_name",
        "input_shapes",
        "count_file",
    ):
        parser.add_argument(f"--{name}", default="")
    for name in ("num_executions", "warmup", "warmup_max", "traced_executions", "cpu_threads"):
        parser.add_argument(f"--{name}", type=int, default=1)
    for name in ("etdump_path", "result_path", "outputs_path", "kernel_samples", "workload", "steps_path"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--behave", default="well")
    parser.add_argument("--latency_ms", type=float, default=2.0)
    parser.add_argument("--sample_ms", type=int, default=0)
    parser.add_argument("--output", default="same")
    parser.add_argument("--output_of_b2", default="")
    parser.add_argument("--output_type", default="float32")
    parser.add_argument("--twin_output", default="")
    return parser.parse_args()


def _trace(options: argparse.Namespace) -> bytes:
    if options.behave == "empty trace":
        return b""
    length = int(options.latency_ms * 1e6)
    events = []
    for run in range(options.traced_executions * _count(options, "trace") - (options.behave == "short trace")):
        start = 10 * length * (run + 1)
        events += [
            Event("Convolution (NHWC, F32) IGEMM #1", start, start + length * 6 // 10, delegated=True),
            Event("Transpose (ND, X32) #1", start + length * 6 // 10, start + length * 9 // 10, delegated=True),
            Event("DELEGATE_CALL", start, start + length * 95 // 100),
            Event("Method::execute", start, start + length),
        ]
    data = build_etdump([("Execute", events)])
    return data[: len(data) // 2] if options.behave == "truncated trace" else data


def _count(options: argparse.Namespace, kind: str) -> int:
    """The steps of a sequence of the workload (phase), or those of a traced one (trace); 1 without a workload."""
    if not options.workload:
        return 1
    lines = [line.split() for line in options.workload.read_bytes().partition(b"\ndata\n")[0].decode().splitlines()]
    return sum(int(words[2]) if kind == "phase" else len(words) - 1 for words in lines if words[0] == kind)


def _write_steps(options: argparse.Namespace) -> None:
    """Steps that take equal parts of nine tenths of a sequence."""
    steps = _count(options, "phase") - (options.behave == "short steps")
    step = int(options.latency_ms * 1e6 * (2 if options.behave == "long steps" else 0.9)) // steps
    numbers = options.num_executions, steps, *[step] * (options.num_executions * steps)
    options.steps_path.write_bytes(b"ETSTEPS1" + struct.pack(f"<{len(numbers)}q", *numbers))


def _write_samples(options: argparse.Namespace) -> None:
    """Sixty samples in the convolution of the first inference, in a kernel of the class that was not hidden."""
    # numpy takes longer to import than all the rest, and few blocks sample.
    from sample_builder import AVX2, AVX512, place, samples, write_samples

    length = int(options.latency_ms * 1e6)
    where = place(AVX2 if options.hide_isa else AVX512)
    met = [(10 * length + length * step // 100, where) for step in range(60)]
    write_samples(options.kernel_samples, samples(met, "x86_64", end_ns=20 * length))


def _result(options: argparse.Namespace) -> dict[str, object]:
    times = [int(options.latency_ms * 1e6 * (1 + 0.002 * (i % 3))) for i in range(options.num_executions)]
    outputs = [_write_output(options, f"output_{i}.bin") for i in range(2 if options.twin_output else 1)]
    state = {"frequencies_khz": {}, "load_average": 0.1, "temperature_c": None, "throttling": None}
    wall, waited = sum(times), sum(times) // 2 if options.behave == "busy" else 0
    thread = {"ran_ns": wall - waited, "waited_ns": waited, "core_before": 0, "core_after": 0}
    cpu_time = {"wall_ns": wall, "cpu_ns": wall - waited, "threads": [thread]}
    return {
        "schema_version": 2, "runner": "native", "runner_version": "0", "executorch_version": "1.5.1", "error": "",
        "method_name": "forward", "threads": options.cpu_threads, "cpu_affinity": sorted(os.sched_getaffinity(0)),
        "features_seen": ["avx2"], "features_hidden": [n for n in options.hide_isa.split(",") if n], "isa_proof": "",
        "load_ns": 1000, "warmup_ns": times[:2], "warmup_steady": True, "latency_ns": times, "traced_ns": times,
        "peak_bytes": 1 << 20, "cached_share": {"in": 1.0, "out": 0.0}.get(options.page_cache),
        "stages": [], "planned_bytes": None, "sequences_agree": None,
        "cpu_before": state, "cpu_after": state,
        "cpu_time": cpu_time if times else None,
        "outputs": outputs,
    }  # fmt: skip


def _write_output(options: argparse.Namespace, name: str) -> dict[str, object]:
    is_second = options.etdump_path.stem.endswith("_b2")
    text = (is_second and options.output_of_b2) or options.output
    data = text.encode().ljust(8, b"\0")
    options.outputs_path.mkdir(parents=True, exist_ok=True)
    (options.outputs_path / name).write_bytes(data)
    return {"dtype": options.output_type, "shape": [2], "sha256": hashlib.sha256(data).hexdigest(), "file": name}


if __name__ == "__main__":
    raise SystemExit(main())
