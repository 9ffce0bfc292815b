"""What sharing the provenance of nodes saves: the same export with and without it, in turn, in fresh processes.

Run it as `python bench/export.py [MODEL ...]`; a model may carry `+int8`. `etprof models list` lists the names.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

DEFAULT = ("toy_cnn", "mobilenet_v3_small+int8", "vit_tiny+int8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--step", choices=("shared", "copied"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(export(options.models[0], is_shared=options.step == "shared"))  # noqa: T201
        return
    say(f"{'model':26} {'copied':>9} {'shared':>9} {'ratio':>7}")
    for model in options.models:
        rounds = [(run_step("copied", model), run_step("shared", model)) for _ in range(options.rounds)]
        copied, shared = (min(seconds) for seconds in zip(*rounds, strict=True))
        say(f"{model:26} {copied:7.1f} s {shared:7.1f} s {copied / shared:5.2f} x")


def run_step(step: str, model: str) -> float:
    command = [sys.executable, __file__, model, "--step", step]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        sys.exit(f"{model} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.splitlines()[-1])


def export(model: str, *, is_shared: bool) -> float:
    from etprof.export import exporter

    name, _, option = model.partition("+")
    quantization = exporter.Quantization() if option else None
    copying = mock.patch.object(exporter, "share_provenance", nullcontext)
    with tempfile.TemporaryDirectory() as folder, nullcontext() if is_shared else copying:
        start = time.perf_counter()
        exporter.export_model(exporter.ExportRequest(name, Path(folder), quantization=quantization))
        return time.perf_counter() - start


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
