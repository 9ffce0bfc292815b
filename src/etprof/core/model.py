"""What a model must offer to be exported, and what an export leaves behind."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class MethodInputs:
    """What one of several methods takes: example inputs, and what torch.export takes as dynamic_shapes."""

    inputs: tuple[Any, ...]
    dynamic_shapes: Any = None


class EagerModelBase(ABC):
    """The contract of a model folder: an eager PyTorch model and inputs that represent its use.

    The method names are ExecuTorch's own, so a class written for its examples works here unchanged. All random numbers
    come from generators that the exporter has seeded: do not seed them in the model.
    """

    @abstractmethod
    def get_eager_model(self) -> Any:
        """The torch.nn.Module, with its weights in place."""

    @abstractmethod
    def get_example_inputs(self) -> tuple[Any, ...]:
        """Positional inputs of the true shapes and types; measurements use exactly these."""

    def get_example_kwarg_inputs(self) -> Mapping[str, Any] | None:
        return None

    def get_dynamic_shapes(self) -> Any:
        """What torch.export takes as dynamic_shapes; None means that every shape is fixed."""
        return None

    def get_methods(self) -> Mapping[str, MethodInputs] | None:
        """For a program of several methods: each by the name of the submodule that it is; None means `forward` alone.

        What each method takes is stated here; `get_example_inputs` is not asked then, and may give those of the first.
        """
        return None

    def get_constant_methods(self) -> Mapping[str, Any] | None:
        """Methods that take nothing and return one value, such as get_max_seq_len: facts for who runs the program."""
        return None

    def get_calibration_inputs(self, count: int) -> Iterable[tuple[Any, ...]] | None:
        """Positional inputs to calibrate a static quantisation with; None draws example inputs with other seeds."""
        return None

    def evaluate(self, run: Callable[..., Any]) -> float | None:
        """How good a build is on data of your own, more is better; None leaves it to the SNR against the eager model.

        `run` takes what the model takes and returns what it returns: the build in place of the model.
        """
        return None

    def adapt_checkpoint(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Turns the content of a user's checkpoint file into the state dict of the eager model."""
        return state


@dataclass(frozen=True)
class ExportedFile:
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class TensorInfo:
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class TensorFile(TensorInfo):
    """An example input, or what the eager model makes of them: its raw bytes lie in `file`, if it is a tensor."""

    file: str
    sha256: str


@dataclass(frozen=True)
class ModelSource:
    """Where the model's code is: a models folder, the package itself or the executorch wheel."""

    origin: str
    location: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Where the weights come from: `random` with a seed, `checkpoint` with its file, or `model`."""

    source: str
    sha256: str = ""
    seed: int | None = None
    file: str | None = None
    file_sha256: str | None = None
    zero_layers_filled: int | None = None
    batch_norm: str | None = None


@dataclass(frozen=True)
class LeftOperator:
    """An operator that was not delegated, how often, and the partitioner's reason where it gave one."""

    operator: str
    count: int
    reason: str


@dataclass(frozen=True)
class Delegation:
    partitions: int
    operators_delegated: int
    operators_left: int
    delegated_share: float
    delegated: Mapping[str, int]
    left: tuple[LeftOperator, ...]


@dataclass(frozen=True)
class OutputNumerics:
    """One output against eager fp32; `snr_db` is None where it is `exact`, or infinitely bad."""

    output: int
    snr_db: float | None
    exact: bool
    cosine: float
    max_abs_error: float


@dataclass(frozen=True)
class Numerics:
    """`worst_snr_db` is None where every output is exact."""

    reference: str
    floor_db: float
    worst_snr_db: float | None
    outputs: tuple[OutputNumerics, ...]


@dataclass(frozen=True)
class Calibration:
    count: int
    source: str
    sha256: str


@dataclass(frozen=True)
class MethodMeta:
    """One method of an export that has several."""

    inputs: tuple[TensorFile, ...]
    outputs: tuple[TensorInfo, ...]
    reference: tuple[TensorFile, ...]
    numerics: Numerics


@dataclass(frozen=True, kw_only=True)
class ExportMeta:
    """Every fact about an export, as export_meta.json holds it; docs/reference/export-meta.md describes each.

    Where there are several `methods`, `inputs`, `outputs`, `reference` and `numerics` are those of the first.
    """

    model: str
    backend: str
    dtype: str
    precision: str
    seed: int
    etprof_version: str
    created_at: str
    model_source: ModelSource
    versions: Mapping[str, str | None]
    weights: Weights
    inputs: tuple[TensorFile, ...]
    outputs: tuple[TensorInfo, ...]
    pte: ExportedFile
    etrecord: ExportedFile
    delegation: Delegation
    numerics: Numerics
    quantization: Mapping[str, Any] | None = None
    calibration: Calibration | None = None
    inputs_replaced_by_random: bool = False
    graph: ExportedFile | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    reference: tuple[TensorFile, ...] = ()
    methods: Mapping[str, MethodMeta] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return precision_label(self.backend, self.precision)

    @property
    def all_methods(self) -> tuple[MethodMeta, ...]:
        own = MethodMeta(self.inputs, self.outputs, self.reference, self.numerics)
        return tuple(self.methods.values()) or (own,)


def precision_label(backend: str, precision: str) -> str:
    """What tells the exports of one model apart in the names of folders: fp16, q8 or portable_fp32."""
    return precision if backend == "xnnpack" else f"{backend}_{precision}"


@dataclass(frozen=True)
class Artifact:
    """One exported model on disk: the program, its side files, and the facts about it."""

    pte: Path
    meta: ExportMeta
    reused: bool = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return tuple(self.pte.parent / each.file for each in self.meta.inputs)

    @property
    def etrecord(self) -> Path:
        return self.pte.parent / self.meta.etrecord.file
