"""Runs a model on emulated Arm CPUs of several levels and tells which family of kernels each of its nodes executes."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etprof.analysis.executed_kernels import ExecutedNode, list_executed
from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.kernels.cases import is_compute
from etprof.analysis.kernels.evidence import build_evidence
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.app.device_parts import RunnerParts
from etprof.core.digest import file_sha256
from etprof.core.errors import DeviceError
from etprof.core.layout import graph_path
from etprof.core.loaded_run import SampledBlock
from etprof.core.model import Artifact
from etprof.core.plan import Variant
from etprof.core.predictions import CpuLevel
from etprof.core.units import spell_shape
from etprof.devices.emulator import Emulator, find_emulator
from etprof.export.graph_file import load_graph
from etprof.runner.bundle import Bundle
from etprof.traces.etdump import read_etdump
from etprof.traces.function_code import add_function_code
from etprof.traces.kernel_samples import read_kernel_samples
from etprof.traces.program_graph import read_graphs

# QEMU's CPU of each level. What it is called does not matter: the features that the runner sees are checked.
_CPUS = {CpuLevel.SME2: "max", CpuLevel.I8MM: "max,sme=off,sve=off", CpuLevel.DOT_PRODUCT: "cortex-a76"}
_FEATURES = {CpuLevel.SME2: "sme2", CpuLevel.I8MM: "i8mm", CpuLevel.DOT_PRODUCT: "dot"}
_LIBRARY = "libexecutorch_backend_xnnpack.so"
_SAMPLES_PER_S = 10_000
_SAMPLE_MS = (2_000, 8_000, 30_000)
# An inference of a large model takes minutes here, and its last operators are to be sampled too.
_MOST_SAMPLES = 8_388_608


@dataclass(frozen=True)
class KernelProbe:
    """An emulator, and a runner with the libraries of the aarch64 wheel to execute in it."""

    emulator: Emulator
    bundle: Bundle

    @property
    def executorch(self) -> str:
        return self.bundle.runner.executorch_version

    @property
    def _library(self) -> Path:
        return self.bundle.folder / "lib" / _LIBRARY

    @property
    def library_sha256(self) -> str:
        return file_sha256(self._library)

    def execute(
        self, level: CpuLevel, model: Artifact, folder: Path, *, method: str = "", timeout_s: float = 600.0
    ) -> tuple[ExecutedNode, ...]:
        """The nodes of the model with what they executed; its times are not looked at.

        It is sampled for longer as long as a convolution or a matrix product has too few samples. Of a program with
        several methods one is named.
        """
        nodes: tuple[ExecutedNode, ...] = ()
        for sample_ms in _SAMPLE_MS:
            self._run(level, model, folder, sample_ms=sample_ms, method=method, timeout_s=timeout_s)
            nodes = self.read(level, model, folder, method)
            if all(each.family for each in nodes if is_compute(each.node)):
                break
        return nodes

    def _run(
        self, level: CpuLevel, model: Artifact, folder: Path, *, sample_ms: int, method: str, timeout_s: float
    ) -> None:
        inputs = model.meta.methods[method].inputs if method else model.meta.inputs
        samples, etdump, result = (folder / f"{level}.{suffix}" for suffix in ("kernels", "etdump", "json"))
        command = [
            self.emulator.path, "-cpu", _CPUS[level], *self.bundle.command(str(self.bundle.folder)),
            "--model_path", str(model.pte), "--method_name", method,
            "--inputs", ",".join(str(model.pte.parent / each.file) for each in inputs),
            "--input_shapes", ",".join(spell_shape(each.shape) for each in inputs),
            "--num_executions", "0", "--warmup", "0", "--warmup_max", "0", "--traced_executions", "1",
            "--cpu_threads", "1", "--kernel_samples", str(samples), "--sample_ms", str(sample_ms),
            "--sample_rate", str(_SAMPLES_PER_S), "--sample_buffer", str(_MOST_SAMPLES),
            "--etdump_path", str(etdump), "--result_path", str(result),
            "--outputs_path", str(folder / f"{level}.outputs"),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        if done.returncode != 0:
            raise DeviceError(f"{model.pte} failed on an emulated CPU with {level}: {done.stderr.strip()[-400:]}")
        _require_level(level, json.loads(result.read_bytes()))

    def read(self, level: CpuLevel, model: Artifact, folder: Path, method: str = "") -> tuple[ExecutedNode, ...]:
        """What an execution left in this folder."""
        samples = add_function_code(read_kernel_samples(folder / f"{level}.kernels"), self._library)
        block = SampledBlock(samples, read_etdump(folder / f"{level}.etdump"))
        evidence = build_evidence(Variant(level, 1), [block], times_are_real=False)
        graph = read_graphs(model.pte)[method] if method else load_graph(graph_path(model.pte))
        alignments = align_operators(collect_operators([block.trace]), graph)
        return list_executed(evidence, list_mapped(alignments))


def open_probe() -> KernelProbe:
    """Builds the runner if it is not there."""
    parts = RunnerParts()
    return KernelProbe(find_emulator(parts.emulator_folder), parts.find_bundle("arm64", lambda _: None))


def _require_level(level: CpuLevel, result: dict[str, Any]) -> None:
    seen = set(result["features_seen"])
    ranked = list(CpuLevel)
    above = {_FEATURES[each] for each in ranked[: ranked.index(level)]}
    if _FEATURES[level] not in seen or above & seen:
        raise DeviceError(
            f"The emulated CPU {_CPUS[level]} does not stand for {level}: it has {', '.join(sorted(seen))}.",
            hint="Install another version of QEMU; `etprof doctor` shows the one that is used.",
        )
