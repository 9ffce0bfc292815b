"""What a user asks of an export, checked before any time is spent."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from etprof.core.digest import content_sha256
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.model import precision_label

BACKENDS = ("xnnpack", "portable")
DTYPES = ("fp32", "fp16")
_INTEGERS = "Integers are a quantisation of an fp32 model: use --quantize instead of --dtype."
_BFLOAT = "XNNPACK runs fp32 and fp16 (--dtype), and INT8 (--quantize); bf16 is not supported."
# What users try, and what they get it with.
_OTHER_DTYPES = {
    **dict.fromkeys(("int8", "i8", "uint8", "u8", "q8", "qint8", "int4", "i4", "q4", "int16"), _INTEGERS),
    **dict.fromkeys(("bf16", "bfloat16"), _BFLOAT),
    **dict.fromkeys(("float32", "float", "f32"), "It is called fp32."),
    **dict.fromkeys(("float16", "half", "f16"), "It is called fp16."),
}
SCHEMES = ("static", "dynamic", "linear-dynamic", "linear-weight-only")
GRANULARITIES = ("per_channel", "per_tensor")
# Lowest SNR against eager fp32 that is still called an export. Far below what sound exports reach, far above noise.
SNR_FLOORS_DB = {"fp32": 50.0, "fp16": 20.0, "q8": 5.0, "q4": 2.0}


@dataclass(frozen=True)
class Quantization:
    """How weights and activations become integers.

    static and dynamic quantise what XNNPACK's quantizer annotates; the two linear schemes are torchao's, for linear
    layers only, with 8- or 4-bit weights.
    """

    scheme: str = "static"
    granularity: str = "per_channel"
    weight_bits: int = 8
    group_size: int = 0
    calibration: int | Path = 8

    def __post_init__(self) -> None:
        _known("quantisation scheme", self.scheme, SCHEMES)
        _known("quantisation granularity", self.granularity, GRANULARITIES)
        linear = self.scheme.startswith("linear")
        if self.weight_bits not in (4, 8) or (self.weight_bits == 4 and not linear):
            raise UsageError(
                f"{self.scheme} quantisation with {self.weight_bits}-bit weights is not supported.",
                hint="4-bit weights: --quant-scheme linear-dynamic --weight-bits 4",
            )
        if self.group_size and not (linear and self.weight_bits == 4):
            raise UsageError(
                "A group size applies to 4-bit weights of linear layers only.",
                hint="Use: --quant-scheme linear-dynamic --weight-bits 4 --group-size 32",
            )
        if self.granularity == "per_tensor" and self.scheme != "static":
            raise UsageError(
                f"{self.scheme} quantisation is per channel on this version of XNNPACK.",
                hint="Use --quant-granularity per_channel, or --quant-scheme static.",
            )
        if isinstance(self.calibration, int) and self.calibration < 1:
            raise UsageError("A calibration needs at least one input.", hint="Use: --calibration 8")

    @property
    def label(self) -> str:
        """The name of the scheme in tables, in folders, and in `--schemes`."""
        if not self.scheme.startswith("linear"):
            return f"{self.scheme}_{self.granularity}"
        group = f"_g{self.group_size}" if self.group_size else ""
        return f"{self.scheme.replace('-', '_')}_{self.weight_bits}bit{group}"


@dataclass(frozen=True)
class ExportRequest:
    model: str
    outdir: Path | None = None
    backend: str = "xnnpack"
    dtype: str = "fp32"
    quantization: Quantization | None = None
    seed: int = 0
    checkpoint: Path | None = None
    models_dir: Path | None = None
    min_snr_db: float | None = None
    save_graph: bool = True
    state_in_place: bool = False
    debug: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        _known("backend", self.backend, BACKENDS)
        if self.dtype.lower() in _OTHER_DTYPES:
            raise UsageError(f"There is no dtype called {self.dtype!r}.", hint=_OTHER_DTYPES[self.dtype.lower()])
        _known("dtype", self.dtype, DTYPES)
        if self.quantization and self.dtype != "fp32":
            raise UsageError(
                "A quantised model keeps fp32 where it is not quantised; fp16 and --quantize are mutually exclusive.",
                hint="Omit --dtype or --quantize.",
            )
        if self.quantization and self.backend != "xnnpack":
            raise UsageError("Quantised models run on XNNPACK only.", hint="Use: --backend xnnpack --quantize")
        if self.checkpoint and not self.checkpoint.is_file():
            raise UsageError(
                f"There is no checkpoint {self.checkpoint}.", hint="Give the path of a .pt or .safetensors file."
            )
        calibration = self.quantization.calibration if self.quantization else None
        if isinstance(calibration, Path) and not calibration.is_dir():
            raise UsageError(
                f"There is no calibration folder {calibration}.",
                hint="Give a number of inputs or a folder of .npy or .npz files.",
            )

    @property
    def precision(self) -> str:
        """The part of file names: fp32, fp16, q8 or q4."""
        return f"q{self.quantization.weight_bits}" if self.quantization else self.dtype

    @property
    def label(self) -> str:
        return precision_label(self.backend, self.precision)

    @property
    def stem(self) -> str:
        return f"{self.model}_{self.backend}_{self.precision}"

    @property
    def folder(self) -> Path:
        return self.outdir or Path(f"out_{self.model}") / "artifacts"

    @property
    def pte(self) -> Path:
        return self.folder / f"{self.stem}.pte"

    @property
    def floor_db(self) -> float:
        return SNR_FLOORS_DB[self.precision] if self.min_snr_db is None else self.min_snr_db

    def settings(self) -> Mapping[str, Any]:
        """What decides the content of the .pte, as JSON: two exports with equal settings are the same export."""
        quantization = asdict(self.quantization) if self.quantization else None
        if quantization and isinstance(quantization["calibration"], Path):
            quantization["calibration"] = content_sha256(quantization["calibration"])
        return {
            "model": self.model,
            "backend": self.backend,
            "dtype": self.dtype,
            "quantization": quantization,
            "seed": self.seed,
            "checkpoint": content_sha256(self.checkpoint) if self.checkpoint else None,
            # Absent in exports from before there was a choice.
            **({"state_in_place": True} if self.state_in_place else {}),
        }


def _known(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UnknownNameError(kind, name, known, hint=f"Known: {', '.join(known)}.")
