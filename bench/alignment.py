"""How much of a trace leads back to the graph: exported, executed and aligned by the product itself, per architecture.

Run it as `python bench/alignment.py [MODEL ...]`; a model may carry `+int8`. `etprof models list` lists the names.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

DEFAULT = (
    "toy_cnn", "mobilenet_v3_small", "vit_tiny", "mv2", "resnet18", "resnet8", "ds_cnn", "mobilenet_v1_025",
    "deep_autoencoder", "lstm", "sdpa", "conv1d", "toy_cnn+int8", "mv2+int8",
)  # fmt: skip


def main(models: list[str]) -> None:
    total: Counter[str] = Counter()
    say(f"{'model':22} {'delegated':>12} {'portable':>12}  delegate calls by confidence")
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            counts, calls = measure(model, Path(folder))
        total += counts
        cells = [f"{counts[f'{kind} mapped']}/{counts[kind]}" for kind in ("delegated", "portable")]
        say(f"{model:22} {cells[0]:>12} {cells[1]:>12}  {', '.join(f'{n} {word}' for word, n in calls.items())}")
    events = total["delegated"] + total["portable"]
    mapped = total["delegated mapped"] + total["portable mapped"]
    say(f"mapped: {mapped} of {events} operators, {mapped / events:.1%}")


def measure(model: str, folder: Path) -> tuple[Counter[str], Counter[str]]:
    from etprof.analysis.graph.alignment import align_operators
    from etprof.analysis.operators.operator_statistics import collect_operators
    from etprof.export.graph_file import load_graph
    from etprof.traces.etdump import read_etdump

    name, _, option = model.partition("+")
    command = [sys.executable, "-m", "etprof", "export", name, "--save-graph", "--outdir", str(folder)]
    subprocess.run([*command, *(["--quantize"] if option else [])], check=True, capture_output=True, timeout=900)
    program = next(folder.glob("*.pte"))
    record = [sys.executable, __file__, "--record", str(program)]
    subprocess.run(record, check=True, capture_output=True, timeout=600)
    graph = load_graph(next(folder.glob("*.graph.json")))
    counts: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    trace = read_etdump(program.with_suffix(".etdump"))
    for alignment in align_operators(collect_operators([trace]), graph):
        kind = "delegated" if alignment.call >= 0 else "portable"
        counts[kind] += len(alignment.nodes)
        counts[f"{kind} mapped"] += alignment.mapped
        if alignment.call >= 0:
            calls[alignment.confidence] += 1
    return counts, calls


def record_trace(program: Path) -> None:
    """Two inferences with the inputs the export left behind; in a process of its own, for the runtime's threads."""
    import numpy as np
    import torch
    from executorch.extension.pybindings import _C

    from etprof.export.meta import load_meta

    meta = load_meta(program)
    inputs = []
    for each in meta.inputs if meta else ():
        raw = np.fromfile(program.parent / each.file, np.uint8)
        inputs.append(torch.from_numpy(raw).view(getattr(torch, each.dtype)).reshape(each.shape))
    loaded = _C._load_program(str(program), enable_etdump=True)
    method = loaded.load_method("forward")
    for _ in range(2):
        method.set_inputs(inputs)
        method.execute()
    loaded.write_etdump_result_to_file(str(program.with_suffix(".etdump")), str(program.with_suffix(".debug")))


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record_trace(Path(sys.argv[2]))
    else:
        main(sys.argv[1:] or list(DEFAULT))
