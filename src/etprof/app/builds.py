"""The builds of a model that a user wants to choose from: exported, converted for other runtimes, and compared with it.

One that fails is a candidate with its reason; the others go on.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from etprof.core.errors import EtprofError, ExportError, UnknownNameError
from etprof.core.exploration import Candidate, Exploration
from etprof.core.model import Artifact
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.core.units import format_bytes
from etprof.export.accuracy import Execute, Yardstick, build_yardstick, measure_accuracy
from etprof.export.converted import Origin, convert, find_converter
from etprof.export.execution import load_program
from etprof.export.exporter import export_model
from etprof.export.foreign import output_to
from etprof.export.matrix import SCHEMES_BY_LABEL, build_matrix
from etprof.export.request import ExportRequest
from etprof.export.sensitivity import measure_layers

# As users write them.
DTYPES = "fp32,fp16"
SCHEMES = "static_per_channel,dynamic_per_channel,linear_dynamic_4bit_g32"
_SENSITIVITY_SCHEME = "static_per_channel"


@dataclass(frozen=True)
class BuildsRequest:
    """Which builds of a model: in each dtype and quantised with each scheme, and in each dtype for other runtimes."""

    model: str
    dtypes: tuple[str, ...]
    schemes: tuple[str, ...]
    runtimes: tuple[str, ...] = (EXECUTORCH,)
    models_dir: Path | None = None
    checkpoint: Path | None = None
    min_snr_db: float | None = None
    min_metric: float | None = None
    sensitivity: bool = False

    @property
    def plain(self) -> ExportRequest:
        """Their model, in no precision in particular."""
        return ExportRequest(self.model, models_dir=self.models_dir, checkpoint=self.checkpoint)

    @property
    def wanted(self) -> tuple["Wanted", ...]:
        """Every build that is asked for; a request that names something unknown is refused here."""
        for runtime in self.runtimes:
            if runtime not in RUNTIMES:
                raise UnknownNameError("runtime", runtime, RUNTIMES, hint=f"Known: {', '.join(RUNTIMES)}.")
        exports = build_matrix(self.plain, [self.model], self.dtypes, self.schemes)
        return tuple(
            Wanted(export, runtime)
            for runtime in dict.fromkeys(self.runtimes)
            for export in exports
            # Their quantisation schemes are not XNNPACK's: what is compared would not be the same computation.
            if runtime == EXECUTORCH or not export.quantization
        )


@dataclass(frozen=True)
class Wanted:
    export: ExportRequest
    runtime: str

    @property
    def precision(self) -> str:
        return self.export.quantization.label if self.export.quantization else self.export.dtype

    @property
    def name(self) -> str:
        return self.precision if self.runtime == EXECUTORCH else f"{self.runtime}_{self.precision}"


@dataclass(frozen=True, eq=False)
class Builds:
    """What is to be decided, and the file of each build that can be measured, by its name."""

    exploration: Exploration
    files: dict[str, Path]


def make_builds(request: BuildsRequest, say: Callable[[str], None]) -> Builds:
    """Exports what is not there yet; `say` hears of each build. Refused where not one of them can be measured."""
    wanted = request.wanted
    with output_to(Path(os.devnull)):
        yardstick = build_yardstick(request.plain)
    made = dict(_make_each(wanted, request, yardstick, say))
    files = {candidate.experiment: path for candidate, path in made.values() if path and not candidate.problem}
    if not files:
        first = next(iter(made.values()))[0]
        raise ExportError(
            f"None of the builds of {request.model!r} can be measured. {first.experiment}: {first.problem}",
            hint=f"Export it alone to see more: etprof export {request.model}",
        )
    exploration = Exploration(
        candidates=tuple(candidate for candidate, _ in made.values()),
        held_out=len(yardstick.held_out),
        has_random_weights=yardstick.model.weights.source == "random",
        eager_metric=yardstick.metric,
    )
    return Builds(set_floors(exploration, request), files)


def set_floors(exploration: Exploration, request: BuildsRequest) -> Exploration:
    """The exploration with the floors of a request: a metric that the model does not have cannot be one."""
    if request.min_metric is not None and not exploration.has_metric:
        raise ExportError(
            f"The model {request.model!r} has no metric, so --min-metric cannot be met.",
            hint="Define evaluate(self, run) in the model's class, or give --min-snr.",
        )
    return replace(exploration, min_snr_db=request.min_snr_db, min_metric=request.min_metric)


def add_sensitivity(exploration: Exploration, request: BuildsRequest, say: Callable[[str], None]) -> Exploration:
    """The exploration with the loss of each layer, where that is asked for and not known yet."""
    if not request.sensitivity or exploration.sensitivity:
        return exploration
    static = [name for name in request.schemes if SCHEMES_BY_LABEL[name].scheme == "static"]
    scheme = static[0] if static else _SENSITIVITY_SCHEME

    def tell(done: int, whole: int, layer: str) -> None:
        if done % 10 == 0:
            say(f"quantising layer {done + 1} of {whole} alone: {layer}")

    plain = request.plain
    with output_to(Path(os.devnull)):
        yardstick = build_yardstick(plain)
    losses = measure_layers(yardstick, plain.model, plain.seed, SCHEMES_BY_LABEL[scheme], tell)
    return replace(exploration, sensitivity=losses, sensitivity_scheme=scheme)


def _make_each(
    wanted: Sequence[Wanted], request: BuildsRequest, yardstick: Yardstick, say: Callable[[str], None]
) -> Iterator[tuple[str, tuple[Candidate, Path | None]]]:
    artifacts: dict[ExportRequest, Artifact | EtprofError] = {}
    for number, each in enumerate(wanted, start=1):
        say(f"build {number} of {len(wanted)}: {each.name}")
        candidate, path = _make_one(each, request, yardstick, artifacts)
        say(f"  {_describe(candidate)}")
        yield each.name, (candidate, path)


def _make_one(
    wanted: Wanted, request: BuildsRequest, yardstick: Yardstick, artifacts: dict[ExportRequest, Artifact | EtprofError]
) -> tuple[Candidate, Path | None]:
    """A runtime's program is made from the export of the same precision, which is made once."""
    candidate = Candidate(wanted.name, wanted.precision, wanted.runtime)
    try:
        artifact = artifacts.get(wanted.export) or export_model(wanted.export)
        artifacts[wanted.export] = artifact
        if isinstance(artifact, EtprofError):
            raise artifact
        path, open_build = _open(artifact, wanted.runtime, Origin(request.models_dir, request.checkpoint))
        candidate = replace(candidate, file_bytes=path.stat().st_size)
        with output_to(Path(os.devnull)):
            found = measure_accuracy(yardstick, artifact.meta.inputs, open_build)
    except EtprofError as error:
        artifacts.setdefault(wanted.export, error)
        return replace(candidate, problem=error.message), None
    is_exact = found.snr_db == math.inf
    snr_db = round(found.snr_db, 2) if math.isfinite(found.snr_db) else None
    return replace(candidate, snr_db=snr_db, is_exact=is_exact, metric=found.metric), path


def _open(artifact: Artifact, runtime: str, origin: Origin) -> tuple[Path, Callable[[], Execute]]:
    if runtime == EXECUTORCH:
        return artifact.pte, partial(load_program, artifact.pte)
    path = convert(artifact, runtime, origin)
    return path, lambda: partial(find_converter(runtime).run, path)


def _describe(candidate: Candidate) -> str:
    if candidate.problem:
        return f"not measured: {candidate.problem}"
    snr = "exact" if candidate.is_exact else f"SNR {candidate.snr_db:.1f} dB" if candidate.snr_db is not None else ""
    metric = f"metric {candidate.metric:g}" if candidate.metric is not None else ""
    return ", ".join(filter(None, (format_bytes(candidate.file_bytes or 0), snr, metric)))
