"""The fixed set of operators that devices are calibrated with, as programs of many layers each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from etprof.core.digest import file_sha256
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.model import Artifact
from etprof.export.exporter import export_model
from etprof.export.model_entry import PROGRAM, ModelEntry
from etprof.export.registry import register_entry
from etprof.export.request import ExportRequest, Quantization

_MODULE = "etprof.export.probes.networks"
# By the class of `networks`. What each consists of follows from its name and number alone.
_NETWORKS = {
    "image_1": "FirstImageProbe",
    "image_2": "SecondImageProbe",
    "tokens": "TokenProbe",
    "single": "SingleProbe",
}
# What XNNPACK executes: the precision of a program, and the options of its export.
_PRECISIONS: dict[str, dict[str, Any]] = {
    "fp32": {},
    "int8": {"quantization": Quantization(calibration=1)},
    "fp16": {"dtype": "fp16"},
}
PRECISIONS = tuple(_PRECISIONS)
# What the names of their models begin with, which are registered while they are exported.
PROBE_PREFIX = "etprof_probe_"
# Probes have random weights and are only timed: how exact they are says nothing.
_ANY_SNR_DB = -1000.0


@dataclass(frozen=True)
class ProbeProgram:
    """A network in one precision; its name begins the names of its probes."""

    network: str
    precision: str

    @property
    def name(self) -> str:
        return f"{self.precision}/{self.network}"


def list_programs(precisions: Sequence[str] = PRECISIONS) -> tuple[ProbeProgram, ...]:
    for name in precisions:
        if name not in PRECISIONS:
            raise UnknownNameError("precision", name, PRECISIONS, hint=f"Known: {', '.join(PRECISIONS)}.")
    if not precisions:
        raise UsageError("No precision is named.", hint=f"Known: {', '.join(PRECISIONS)}.")
    return tuple(ProbeProgram(network, precision) for precision in precisions for network in _NETWORKS)


def export_probe(program: ProbeProgram, folder: Path, progress: Callable[[str], None] | None = None) -> Artifact:
    """Exports a program into a folder of its own, unless it is there and nothing has changed since."""
    model = f"{PROBE_PREFIX}{program.network}"
    register_entry(
        ModelEntry(model, PROGRAM, _MODULE, class_name=_NETWORKS[program.network], source_sha256=_digest_networks())
    )
    request = ExportRequest(
        model, outdir=folder / f"{program.network}_{program.precision}", min_snr_db=_ANY_SNR_DB,
        **_PRECISIONS[program.precision],
    )  # fmt: skip
    return export_model(request, progress)


@cache
def _digest_networks() -> str:
    return file_sha256(Path(__file__).with_name("networks.py"))
