"""Writes the page with a sample of every JSON and CSV file: run it by itself, it takes about two minutes.

With `--page` it writes the page from the files that are there. A test compares the structure of each sample with what
a run writes.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/samples.md"
_FOLDER = "out_sample/files"
_STEM = "toy_cnn_xnnpack_fp32"
_ROWS = 3
_VALUES = 6
_DEPTH = 3
_LONGEST = 60
# Each file with what it is, by its name in the page; `{on}` and `{off}` are the variants of the run.
FILES = {
    f"artifacts/{_STEM}.export_meta.json": "What was exported, from what, and how well it computes.",
    f"artifacts/{_STEM}.graph.json": "The nodes of each partition, with modules and shapes.",
    "run/manifest.json": "What was run, where, and with which versions.",
    "run/metrics.json": "The result of every block, with every iteration.",
    "run/{on}/{on}_t1.result.json": "What the runner wrote in one block.",
    "run/analysis_summary.json": "The report.",
    "run/report.csv": "The report as one table.",
    "run/trace.json": "Operators on a time line, for Perfetto.",
    f"run/{_STEM}_pipeline_summary.json": "The report in short.",
    "run/{on}/{on}_t1_robust_stats.json": "Latency of a variant with every sample.",
    "run/{on}/{on}_t1_all_runs_timeline.csv": "Every event of every traced inference.",
    "run/{on}/{on}_t1_run0_timeline.csv": "The events of the first inference.",
    "run/{on}/{on}_t1_ops_stats.csv": "One row for each operator.",
    "run/{on}/{on}_t1_category_summary.csv": "One row for each category; the rows add up.",
    "run/{on}_kernels/{on}_kernels_t1_kernels.csv": "Which kernels executed.",
    "tables/{on}_t1_ops.json": "`etprof trace json`: accounting, categories and operators.",
    "tables/operator_comparison.csv": "`etprof trace operators --compare`: operators before and after.",
    "tables/category_comparison.csv": "The same for categories.",
    "tables/{on}_t1_data_movement.csv": "`etprof trace transposes`: operators that move data.",
    "tables/{on}_t1_transpose_pairs.csv": "Transposes that cancel each other.",
}
_OPENING = """\
# A sample of every file

From one run of `toy_cnn` on a two-core x86-64 machine. `scripts/sample_files.py` wrote this page, and a test compares
its structure with what a run writes. Tables are cut after three rows, lists after one entry or six plain values;
what is nested deeper is shown as `…`, and long texts are cut. [File formats](file-formats.md),
[the report as JSON](report-json.md) and [what an export writes](export-meta.md) explain the fields.
"""


def main() -> None:
    if "--page" not in sys.argv:
        make_files()
    variants = name_variants()
    lines = [_OPENING]
    for name, meaning in FILES.items():
        path = ROOT / _FOLDER / name.format(**variants)
        lines.append(f"## `{title_of(name)}`\n\n{meaning}\n\n```{path.suffix[1:]}\n{sample_of(path)}\n```\n")
    PAGE.write_text("\n".join(lines), encoding="utf-8")


def title_of(name: str) -> str:
    """The name under which the page shows a file."""
    return (
        Path(name).name.format(on="<variant>", off="<variant>").replace(_STEM, "<stem>").replace("_kernels_t1", "_t1")
    )


def name_variants() -> dict[str, str]:
    """The names of the variants with and without the extension."""
    (off,) = (path.name for path in (ROOT / _FOLDER / "run").glob("*_off"))
    return {"on": off.removesuffix("_off") + "_on", "off": off}


def make_files() -> None:
    """Exports, profiles and writes every table."""
    artifacts, run, tables = (f"{_FOLDER}/{part}" for part in ("artifacts", "run", "tables"))
    _etprof("export", "toy_cnn", "--outdir", artifacts)
    _etprof("profile", f"{artifacts}/{_STEM}.pte", "--kernels", "--output-root", run, "--force", "--budget", "60s")
    on, off = name_variants().values()
    trace = f"{run}/{on}/{on}_t1.etdump"
    _etprof("trace", "json", trace, "--output", f"{tables}/{on}_t1_ops.json")
    _etprof("trace", "operators", f"{run}/{on}", "--compare", f"{run}/{off}", "--output-dir", tables)
    graph = f"{artifacts}/{_STEM}.graph.json"
    _etprof("trace", "transposes", trace, "--graph", graph, "--output-dir", tables)


def _etprof(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "etprof", *arguments], cwd=ROOT, check=True)


def sample_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        target = io.StringIO()
        csv.writer(target, lineterminator="\n").writerows(list(csv.reader(io.StringIO(text)))[: _ROWS + 1])
        return target.getvalue().rstrip("\n")
    return json.dumps(shorten(json.loads(text), _DEPTH), indent=2, ensure_ascii=False)


def shorten(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return {key: shorten(each, depth - 1) for key, each in value.items()} if depth else "…"
    if isinstance(value, list):
        kept = 1 if value and isinstance(value[0], dict | list) else _VALUES
        return [shorten(each, depth) for each in value[:kept]]
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value


if __name__ == "__main__":
    main()
