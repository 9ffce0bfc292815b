"""How the history grows: adding many runs, a typical query, a trend; time and memory, in a process of its own.

Usage: python bench/history.py [--runs 10000] [--operators 300]
The rows are those of real reports, built in memory and varied from run to run: reading folders is measured by
bench/reports.py. The limits of the documentation are 5 minutes for 10,000 runs, 2 s for a query, and 2 GiB.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from etprof.app.history import build_trends
from etprof.store.history_file import RunRows, add_rows, query

_AT_ONCE = 50
_QUERIES = {
    "slowest operators of a model": """
        select o.name, o.module, avg(o.mean_ms) as ms from operators o join runs r using (run_id)
        where r.model = 'model_3' and o.variant = 'on_t1' group by all order by ms desc limit 10""",
    "latency of every model by version": """
        select r.model, v.variant, r.executorch, median(v.median_ms), count(*)
        from variants v join runs r using (run_id) group by all order by all""",
    "runs whose convolutions take most": """
        select run_id, sum(mean_ms) as ms from operators where category = 'Convolution' group by all
        order by ms desc limit 10""",
}


def build_run(number: int, operators: int, random_numbers: random.Random) -> RunRows:
    """One of ten models on one of five devices."""
    run_id, started = f"{number:016x}", datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=10 * number)
    model, device = f"model_{number % 10}", f"device {number // 10 % 5}"
    scale = 1 + random_numbers.gauss(0, 0.01)
    variants = ("off_t1", "on_t1")
    return {
        "runs": [
            {
                "run_id": run_id, "content_sha256": run_id, "folder": f"/runs/{number}", "report": "report.html",
                "added_at": started.isoformat(), "started_at": started.isoformat(), "model": model, "device": device,
                "times_are_real": True, "commit": f"c{number // 50}", "executorch": f"1.{5 + number // 5000}.0",
                "facts": {"executorch": f"1.{5 + number // 5000}.0", "system": "Linux"},
            }
        ],
        "variants": [
            {"run_id": run_id, "variant": each, "median_ms": (4 - 2 * n) * scale, "noise_floor": 0.01, "blocks": 6}
            for n, each in enumerate(variants)
        ],
        "blocks": [
            {"run_id": run_id, "variant": each, "block": block, "median_ms": (4 - 2 * n) * scale}
            for n, each in enumerate(variants)
            for block in range(6)
        ],
        "operators": [
            {
                "run_id": run_id, "variant": variants[n % 2], "operator": f"d0.{n}", "name": f"Convolution IGEMM #{n}",
                "category": ("Convolution", "GEMM", "Data Movement")[n % 3], "kind": "1x1 convolution",
                "module": f"stages.{n % 7}.blocks.{n % 5}.conv", "delegated": True, "mean_ms": 0.01 * scale,
                "share": 1 / operators, "macs": 1_000_000,
            }
            for n in range(operators)
        ],
    }  # fmt: skip


def batches(runs: int, operators: int) -> Iterator[list[RunRows]]:
    random_numbers = random.Random(1)
    for start in range(0, runs, _AT_ONCE):
        yield [build_run(number, operators, random_numbers) for number in range(start, min(start + _AT_ONCE, runs))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--operators", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history.duckdb"
        began = time.perf_counter()
        for batch in batches(given.runs, given.operators):
            add_rows(file, batch)
        added = time.perf_counter() - began
        print(f"{given.runs} runs with {given.operators} operators each: added in {added:.1f} s")  # noqa: T201
        print(f"file: {file.stat().st_size / 2**20:.0f} MiB")  # noqa: T201
        slowest = 0.0
        for name, statement in _QUERIES.items():
            began = time.perf_counter()
            query(file, statement)
            slowest = max(slowest, time.perf_counter() - began)
            print(f"{name}: {time.perf_counter() - began:.2f} s")  # noqa: T201
        began = time.perf_counter()
        build_trends(file, "model_3")
        print(f"trends of one model on five devices: {time.perf_counter() - began:.2f} s")  # noqa: T201
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory: {peak:.2f} GiB")  # noqa: T201
    limit = 300 * given.runs / 10_000
    return 0 if added <= limit and slowest <= 2 and peak <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
