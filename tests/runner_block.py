"""One block of a runner for tests: starts the program, and gives back its exit code, words, result and outputs."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Block:
    exit_code: int
    stderr: str
    result: dict[str, Any]
    folder: Path

    @property
    def etdump(self) -> Path:
        return self.folder / "block.etdump"

    def output(self, index: int = 0) -> NDArray[np.float64]:
        described = self.result["outputs"][index]
        return read_values(self.folder / "outputs" / described["file"], described["dtype"])


def run_block(command: Sequence[str], model: Path, folder: Path, *flags: str) -> Block:
    """Runs a model of the `models` fixture with its own inputs; `flags` come last, so they win."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs = ",".join(str(p) for p in sorted(model.parent.glob(f"{model.stem}.input_*.bin")))
    done = subprocess.run(
        [
            *command, "--model_path", str(model), "--inputs", inputs, "--cpu_threads", "1",
            "--etdump_path", str(folder / "block.etdump"), "--traced_executions", "0",
            "--outputs_path", str(folder / "outputs"), "--result_path", str(folder / "result.json"), *flags,
        ],
        capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
    )  # fmt: skip
    result = folder / "result.json"
    return Block(done.returncode, done.stderr, json.loads(result.read_bytes()) if result.exists() else {}, folder)


def read_values(path: Path, dtype: str) -> NDArray[np.float64]:
    return np.fromfile(path, np.dtype(dtype).newbyteorder("<")).astype(np.float64)


def signal_to_noise_db(expected: NDArray[np.float64], found: NDArray[np.float64]) -> float:
    noise = float(((expected - found) ** 2).sum())
    return float(10 * np.log10((expected**2).sum() / noise)) if noise else float("inf")
