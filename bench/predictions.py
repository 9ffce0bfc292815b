"""How often the kernels that are predicted from a model's graph are the kernels that execute, on emulated CPUs.

Run: python bench/predictions.py [MODEL ...] [--precisions fp32,fp16,int8] [--levels SME2,i8mm,DotProd] [--keep FOLDER]

Every model of the registry by default, each with the smallest images it takes. `--keep` keeps exports and runs, and
reuses them. Wrong and unknown predictions together may be 2 % of the convolutions and matrix products; operators that
were too short to be sampled are counted as undecided.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from etprof.analysis.kernels.predictions import predict_kernels
from etprof.app.kernel_probe import KernelProbe, open_probe
from etprof.core.errors import EtprofError
from etprof.core.layout import graph_path
from etprof.core.model import Artifact
from etprof.core.predictions import CpuLevel, KernelTable
from etprof.export.exporter import export_model
from etprof.export.graph_file import load_graph
from etprof.export.meta import load_meta
from etprof.export.model_entry import ModelEntry
from etprof.export.random_weights import fill_zero_layers
from etprof.export.registry import DEFAULT_MODELS_DIR, find_model, list_models, register_model
from etprof.export.request import ExportRequest, Quantization
from etprof.export.wheel_models import load_model_class, no_downloads, repair_torchvision
from etprof.store.kernel_table_file import load_kernel_table
from etprof.traces.program_graph import read_graphs

MOST_WRONG = 0.02
PRECISIONS: dict[str, dict[str, Any]] = {
    "fp32": {},
    "fp16": {"dtype": "fp16"},
    "int8": {"quantization": Quantization(calibration=1)},
}
_SIDES = (32, 64, 96, 128, 160)
_TIMEOUT_S = 1800.0


def main() -> int:
    options = read_options()
    folder = options.keep or Path(tempfile.mkdtemp())
    table = load_kernel_table(probe_executorch := (probe := open_probe()).executorch)
    say(f"executorch {probe_executorch}: {len(table.rows) if table else 0} rows in the table")
    total: Counter[str] = Counter()
    for name in options.models or [entry.name for entry in list_models(DEFAULT_MODELS_DIR) if not entry.problem]:
        for precision in options.precisions.split(","):
            started = time.monotonic()
            try:
                artifact = export_small(name, precision, folder)
            except EtprofError as error:
                say(f"{name:22} {precision:5} not exported: {error.message}")
                continue
            for level, method in product(map(CpuLevel, options.levels.split(",")), artifact.meta.methods or ("",)):
                counts, notes = judge(probe, table, artifact, level, method)
                total += counts
                row = f"{f'{name} {method}':22} {precision:5} {level:8}"
                say(f"{row} {describe(counts)} ({time.monotonic() - started:.0f} s)")
                for note in notes:
                    say(f"    {note}")
    share = (total["wrong"] + total["unknown"]) / max(total.total(), 1)
    say(f"all: {describe(total)}; wrong and unknown {share:.1%}, at most {MOST_WRONG:.0%}")
    return 0 if share <= MOST_WRONG else 1


def judge(
    probe: KernelProbe, table: KernelTable | None, artifact: Artifact, level: CpuLevel, method: str
) -> tuple[Counter[str], list[str]]:
    graph = read_graphs(artifact.pte)[method] if method else load_graph(graph_path(artifact.pte))
    predicted = predict_kernels(graph, table)
    # Each precision has a folder of its own, so that what a run left there is of this export.
    folder = artifact.pte.parent / artifact.meta.precision / method
    folder.mkdir(parents=True, exist_ok=True)
    kept = [folder / f"{level}.{suffix}" for suffix in ("json", "etdump", "kernels")]
    run = (
        probe.read(level, artifact, folder, method)
        if all(path.is_file() for path in kept)
        else probe.execute(level, artifact, folder, method=method, timeout_s=_TIMEOUT_S)
    )
    executed = {(each.partition, each.node.index): each for each in run}
    counts: Counter[str] = Counter()
    notes = []
    for each in (prediction for prediction in predicted if prediction.is_compute):
        found = executed.get((each.partition, each.node.index))
        expected, family = each.families[level], found.family if found else None
        if expected is None:
            counts["unknown"] += 1
            notes.append(f"unknown, executed {family}: {each.why}")
        elif family is None:
            counts["undecided"] += 1
        else:
            counts["right" if family == expected else "wrong"] += 1
            if family != expected and found:
                shapes = [tensor.shape for tensor in (*each.node.inputs[:2], *each.node.outputs)]
                notes.append(f"predicted {expected}, executed {family}: {found.identity} {each.node.type} {shapes}")
    return counts, notes


def describe(counts: Counter[str]) -> str:
    parts = (f"{counts[word]} {word}" for word in ("right", "wrong", "unknown", "undecided"))
    return f"{counts.total()} compute operators: {', '.join(parts)}"


def export_small(name: str, precision: str, folder: Path) -> Artifact:
    """The model with the smallest images that it computes anything from; exports that are there are used."""
    entry = find_model(name, DEFAULT_MODELS_DIR)
    error = None
    for side in (*_find_sides(entry), 0):
        small = f"{name}_{side or 'whole'}"
        register_model(small, _reduce(entry, side), requires=entry.requires)
        request = ExportRequest(small, outdir=folder / small, min_snr_db=-1000.0, **PRECISIONS[precision])
        try:
            kept = load_meta(request.pte)
            return Artifact(request.pte, kept) if kept else export_model(request)
        except EtprofError as failed:
            error = failed
    raise error or EtprofError(f"{name} cannot be exported.")


def _find_sides(entry: ModelEntry) -> Iterator[int]:
    """The sides of images that the eager model takes; none for a model without images."""
    import torch

    if entry.requires:
        repair_torchvision()
    with no_downloads(), torch.no_grad():
        instance = load_model_class(entry)()
        inputs = instance.get_example_inputs()
        largest = max((tensor.shape[-1] for tensor in inputs if _is_image(tensor)), default=0)
        module = instance.get_eager_model().eval().float()
        for side in (each for each in _SIDES if each < largest):
            try:
                module(*_resize(inputs, side))
            except (RuntimeError, ValueError, AssertionError, IndexError):
                continue
            yield side
            return


def _reduce(entry: ModelEntry, side: int) -> Any:
    with no_downloads():
        base = load_model_class(entry)

    class Reduced(base):  # type: ignore[misc, valid-type]
        def get_eager_model(self) -> Any:
            module = super().get_eager_model()
            fill_zero_layers(module)
            return module

        def get_example_inputs(self) -> Any:
            inputs = super().get_example_inputs()
            return _resize(inputs, side) if side else inputs

    return Reduced


def _is_image(tensor: Any) -> bool:
    return len(getattr(tensor, "shape", ())) == 4 and tensor.shape[1] in (1, 3) and tensor.shape[-1] == tensor.shape[-2]


def _resize(inputs: Sequence[Any], side: int) -> tuple[Any, ...]:
    return tuple(each[..., :side, :side].contiguous() if _is_image(each) else each for each in inputs)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--levels", default=",".join(CpuLevel))
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
