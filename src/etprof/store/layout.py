"""Every file name on disk, spelled once."""

from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
METRICS = "metrics.json"
# The file each report format is written to, in the run's folder.
REPORT_FILES = {
    "md": "report.md",
    "html": "report.html",
    "json": "analysis_summary.json",
    "csv": "report.csv",
    "trace": "trace.json",
}

BLOCK_SUFFIXES = (".etdump", ".log", ".result.json", ".kernels")


@dataclass(frozen=True)
class BlockFiles:
    """The files of one block, relative to the session's folder."""

    result: Path
    etdump: Path
    samples: Path
    log: Path
    outputs: Path


def block_files(experiment: str, threads: int, index: int) -> BlockFiles:
    """The first block carries the plain name the documents promise; later ones count on: `_b2`, `_b3`, ..."""
    stem = f"{experiment}_t{threads}" + (f"_b{index + 1}" if index else "")
    folder = Path(experiment)
    return BlockFiles(
        result=folder / f"{stem}.result.json",
        etdump=folder / f"{stem}.etdump",
        samples=folder / f"{stem}.kernels",
        log=folder / f"{stem}.log",
        outputs=folder / f"{stem}.outputs",
    )


def robust_stats_path(experiment: str, threads: int) -> Path:
    return Path(experiment) / f"{experiment}_t{threads}_robust_stats.json"


def kernels_csv_path(experiment: str, threads: int) -> Path:
    return Path(experiment) / f"{experiment}_t{threads}_kernels.csv"


def pipeline_summary_name(model_stem: str, suffix: str) -> str:
    return f"{model_stem}_pipeline_summary.{suffix}"


def run_folder(model: Path, platform: str) -> Path:
    """Where the runs of an exported model go: beside its `artifacts` folder, or in an `out_<model>` of their own."""
    root = model.parent.parent if model.parent.name == "artifacts" else Path(f"out_{model.stem}")
    return root / "runs" / platform


def export_meta_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.export_meta.json")


def graph_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.graph.json")
