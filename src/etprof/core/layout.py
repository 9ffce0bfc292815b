"""Every file name on disk, spelled once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from etprof.core.program import DEFAULT_METHOD
from etprof.core.runtimes import EXECUTORCH, RUNTIMES, TRACE_SUFFIXES

if TYPE_CHECKING:
    from etprof.core.plan import Variant

MANIFEST = "manifest.json"
METRICS = "metrics.json"
PEAKS = "peaks.json"
# Among the files kept for each device.
DEVICE_PROFILE = "profile.json"
# What a fleet was asked for, beside the runs it gathered.
FLEET = "fleet.json"
# There while a process writes to a run's folder.
RUN_LOCK = ".lock"
# Where runs lie that a newer one in the same folder has taken the places of.
EARLIER_RUNS = "earlier"
_STAMPED_MANIFEST = re.compile(r"manifest\.(\d{8}T\d{6}Z(?:-\d+)?)\.json")
BLOCK_SUFFIXES = (*TRACE_SUFFIXES, ".log", ".result.json", ".kernels", ".steps")


def session_names(stamp: str = "") -> tuple[str, str]:
    """The two files of a session; one that a newer session has joined in its folder has its `stamp` in their names."""
    return (f"manifest.{stamp}.json", f"metrics.{stamp}.json") if stamp else (MANIFEST, METRICS)


def list_stamps(folder: Path) -> list[str]:
    """Of the sessions that a newer one has joined, the oldest first."""
    found = (_STAMPED_MANIFEST.fullmatch(path.name) for path in folder.glob("manifest.*.json"))
    return sorted(match[1] for match in found if match)


@dataclass(frozen=True)
class BlockFiles:
    """The files of one block, relative to the session's folder."""

    result: Path
    etdump: Path
    samples: Path
    steps: Path
    log: Path
    outputs: Path


def block_files(variant: "Variant", index: int, runtime: str = EXECUTORCH) -> BlockFiles:
    """The first block carries the plain name the documents promise; later ones count on: `_b2`, `_b3`, ..."""
    stem = variant.stem + (f"_b{index + 1}" if index else "")
    folder = Path(variant.experiment)
    return BlockFiles(
        result=folder / f"{stem}.result.json",
        etdump=folder / f"{stem}{RUNTIMES[runtime].trace_suffix}",
        samples=folder / f"{stem}.kernels",
        steps=folder / f"{stem}.steps",
        log=folder / f"{stem}.log",
        outputs=folder / f"{stem}.outputs",
    )


def output_name(index: int) -> str:
    """The file of one output in a block's folder of outputs, as runners name it."""
    return f"output_{index}.bin"


def reference_folder(experiment: str) -> Path:
    """Where the outputs of the eager model lie, in the folder of the first experiment that runs the program."""
    return Path(experiment) / f"{experiment}.reference"


def workload_path(experiment: str) -> Path:
    """What runners read of a workload, in the folder of the first experiment that runs it."""
    return Path(experiment) / f"{experiment}.workload"


# Tables of a trace or of a variant: what follows the stem.
ALL_RUNS_SUFFIX = "_all_runs_timeline.csv"
RUN0_SUFFIX = "_run0_timeline.csv"
OPS_STATS_SUFFIX = "_ops_stats.csv"
CATEGORY_SUMMARY_SUFFIX = "_category_summary.csv"
OPS_JSON_SUFFIX = "_ops.json"
MOVEMENTS_SUFFIX = "_data_movement.csv"
PAIRS_SUFFIX = "_transpose_pairs.csv"
ROBUST_STATS_SUFFIX = "_robust_stats.json"
KERNELS_SUFFIX = "_kernels.csv"
OPERATOR_COMPARISON = "operator_comparison.csv"
CATEGORY_COMPARISON = "category_comparison.csv"

# Where the charts of a Markdown report lie, seen from there.
CHART_FOLDER = "charts"
MODEL_EXPLORER_FOLDER = "model_explorer"


def run_suffix(run: int) -> str:
    """What follows the stem in the timeline of one inference."""
    return RUN0_SUFFIX.replace("0", str(run))


def variant_file(variant: "Variant", suffix: str) -> Path:
    """A table of a variant, relative to the session's folder."""
    return Path(variant.experiment) / f"{variant.stem}{suffix}"


def llm_name(suffix: str) -> str:
    """The results of a language model's tests."""
    return f"llm.{suffix}"


def pipeline_summary_name(model_stem: str, suffix: str) -> str:
    return f"{model_stem}_pipeline_summary.{suffix}"


def run_folder(model: Path, platform: str) -> Path:
    """Where the runs of an exported model go: beside its `artifacts` folder, or in an `out_<model>` of their own."""
    root = model.parent.parent if model.parent.name == "artifacts" else Path(f"out_{model.stem}")
    return root / "runs" / platform


def label_folders(folders: Sequence[Path]) -> list[str]:
    """What tells folders apart: their paths without the parts that all of them share in front."""
    parts = [folder.resolve().parts for folder in folders]
    shared = 0
    while all(len(p) > shared + 1 for p in parts) and all(a[shared] == b[shared] for a, b in pairwise(parts)):
        shared += 1
    return ["/".join(p[shared:]) for p in parts]


def export_meta_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.export_meta.json")


def graph_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.graph.json")


def etrecord_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.pte.etrecord")


def input_path(model: Path, index: int, method: str = DEFAULT_METHOD) -> Path:
    return model.with_name(f"{_method_stem(model, method)}.input_{index}.bin")


def reference_path(model: Path, index: int, method: str = DEFAULT_METHOD) -> Path:
    """An output of the eager fp32 model for the inputs of the export."""
    return model.with_name(f"{_method_stem(model, method)}.reference_{index}.bin")


def _method_stem(model: Path, method: str) -> str:
    return model.stem if method == DEFAULT_METHOD else f"{model.stem}.{method}"


def converted_path(model: Path, suffix: str) -> Path:
    """The program of another runtime that is made from the model of an export."""
    return model.with_name(f"{model.stem}{suffix}")


def converted_meta_path(program: Path) -> Path:
    return program.with_name(f"{program.name}_meta.json")


def converted_log_path(program: Path) -> Path:
    """There where a conversion failed."""
    return program.with_name(f"{program.name}.log")


def export_log_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.export.log")


def export_debug_path(model: Path) -> Path:
    return model.with_name(f"{model.stem}.debug")
