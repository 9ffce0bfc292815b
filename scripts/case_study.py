"""Measures the case study of docs/guides/case-study.md: EdgeTAM's image encoder in three precisions.

`scripts/case_study.py` measures and writes the page's tables (about a quarter of an hour); with `--tables` it writes
them from the numbers that are there. A test compares the page with the numbers.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/guides/case-study.md"
NUMBERS = ROOT / "docs/sample/case_study.json"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
MODEL = "edgetam_image_encoder"
# Each precision: what the file's name ends with, and what the export is told.
PRECISIONS = {
    "fp32": ("fp32", ()),
    "fp16": ("fp16", ("--dtype", "fp16")),
    "INT8": ("q8", ("--quantize", "--calibration", "2")),
}
_FOLDER = "out_sample/case_study"
_BUDGET = "150s"


def main() -> None:
    if "--tables" not in sys.argv:
        numbers = {name: measure(*how) for name, how in PRECISIONS.items()}
        NUMBERS.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}{render_tables(load_numbers())}{END}{after}", encoding="utf-8")


def measure(label: str, options: tuple[str, ...]) -> dict[str, Any]:
    artifacts, run = f"{_FOLDER}/artifacts", f"{_FOLDER}/{label}"
    _etprof("export", MODEL, "--outdir", artifacts, *options)
    pte = f"{artifacts}/{MODEL}_xnnpack_{label}.pte"
    plan = f"{_FOLDER}/{label}.json"
    _etprof(
        "profile", pte, "--runs", "3", "--blocks", "4", "--budget", _BUDGET, "--output-root", run, "--write-plan", plan
    )
    _shorten_warmup(ROOT / plan)
    _etprof("run", "--config", plan, "--force")
    report = json.loads((ROOT / run / "analysis_summary.json").read_text(encoding="utf-8"))
    meta = json.loads((ROOT / artifacts / f"{MODEL}_xnnpack_{label}.export_meta.json").read_text(encoding="utf-8"))
    return {"cpu": report["context"]["cpu"], "snr_db": meta["numerics"]["worst_snr_db"], **extract(report)}


def _shorten_warmup(path: Path) -> None:
    """Three iterations are enough for inferences this long; on a busy machine they would never be called steady."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    for experiment in plan["experiments"]:
        experiment |= {"warmup": {"min": 1, "max": 3}, "traced_runs": 2}
    path.write_text(json.dumps(plan, indent=2), encoding="utf-8")


def extract(report: dict[str, Any]) -> dict[str, Any]:
    """What the page shows of a report."""
    (comparison,) = report["comparisons"]
    medians = {v["experiment"]: v["latency"]["median_ms"] for v in report["variants"] if v["latency"]}
    blocks = {v["experiment"]: v["latency"]["blocks"] for v in report["variants"] if v["latency"]}
    baseline, candidate = comparison["baseline"]["experiment"], comparison["candidate"]["experiment"]
    return {
        "baseline_ms": medians[baseline],
        "candidate_ms": medians[candidate],
        "blocks": blocks[candidate],
        **{key: comparison[key] for key in ("speedup", "noise_floor", "verdict", "categories")},
        "bottleneck_before": comparison["bottleneck_before"],
        "bottleneck_after": comparison["bottleneck_after"],
    }


def load_numbers() -> dict[str, Any]:
    return dict(json.loads(NUMBERS.read_text(encoding="utf-8")))


def render_tables(numbers: dict[str, Any]) -> str:
    return f"{_latency_table(numbers)}\n{_share_table(numbers)}"


def _latency_table(numbers: dict[str, Any]) -> str:
    lines = [
        "| Precision | AVX-512 hidden | shown | Speed-up (95 % interval) | Noise floor | Verdict | Bottleneck |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for name, one in numbers.items():
        speedup = one["speedup"]
        interval = f"{speedup['value']:.2f}x ({speedup['low']:.2f}x to {speedup['high']:.2f}x)"
        times = f"{one['baseline_ms']:.0f} ms | {one['candidate_ms']:.0f} ms"
        noise = f"{one['noise_floor']:.1%}" if one["noise_floor"] is not None else "unknown"
        bottleneck = f"{one['bottleneck_before']}, then {one['bottleneck_after']}"
        lines.append(f"| {name} | {times} | {interval} | {noise} | {one['verdict']} | {bottleneck} |")
    return "\n".join(lines) + "\n"


def _share_table(numbers: dict[str, Any]) -> str:
    names = [row["name"] for row in next(iter(numbers.values()))["categories"]]
    heads = [f"{name}, {side}" for name in numbers for side in ("hidden", "shown")]
    lines = [f"| Category | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    for category in names:
        cells = [_share(one, category, side) for one in numbers.values() for side in ("baseline", "candidate")]
        lines.append(f"| {category} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _share(one: dict[str, Any], category: str, side: str) -> str:
    shares = {row["name"]: row[f"{side}_share"] for row in one["categories"]}
    return f"{shares[category]:.1%}" if category in shares else "none"


def _etprof(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "etprof", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
