"""What executes a model: one row for each runtime, by the name that plans give it."""

from collections.abc import Mapping
from dataclasses import dataclass

from etprof.core.model import ExportedFile, Numerics

EXECUTORCH = "executorch"
ONNXRUNTIME = "onnxruntime"


@dataclass(frozen=True)
class Runtime:
    """How a runtime is told apart and what it needs; `title` is for readers.

    A program of another runtime than ExecuTorch is made from the model of an export and lies beside its .pte.
    `converter` is the module of `export` that makes it, `runner` that of `runner` which measures it, and `packages` are
    what both need, as the extra of this name in pyproject.toml installs them. `settings` say what a reader has to know
    about how it is run.
    """

    title: str
    program_suffix: str
    trace_suffix: str
    converter: str = ""
    runner: str = ""
    packages: tuple[str, ...] = ()
    settings: str = ""


RUNTIMES = {
    EXECUTORCH: Runtime("ExecuTorch", ".pte", ".etdump"),
    ONNXRUNTIME: Runtime(
        "ONNX Runtime",
        ".onnx",
        ".ortprofile",
        converter="onnx_program",
        runner="onnxruntime_runner",
        packages=("onnxruntime", "onnx", "onnxscript"),
        settings="CPU execution provider, graph optimisation level ORT_ENABLE_ALL, sequential execution, the intra-op "
        "threads of the plan and 1 inter-op thread, thread pool with its default spinning",
    ),
}
TRACE_SUFFIXES = tuple(runtime.trace_suffix for runtime in RUNTIMES.values())


@dataclass(frozen=True, kw_only=True)
class ConvertedProgram:
    """A program of another runtime, as the meta file beside it describes it; `pte` is the export it belongs to."""

    runtime: str
    program: ExportedFile
    pte: ExportedFile
    weights_sha256: str
    precision: str
    versions: Mapping[str, str]
    numerics: Numerics
    etprof_version: str
    created_at: str
