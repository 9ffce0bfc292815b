"""Layers that are quantised one at a time: what each costs in SNR, beside what quantising it gains in time."""

from collections.abc import Sequence

from etprof.core.exploration import Exploration, LayerLoss, LayerRow
from etprof.core.plan import Variant
from etprof.core.report import VariantReport
from etprof.core.runtimes import EXECUTORCH

_REFERENCE = "fp32"


def choose_builds(exploration: Exploration, measured: Sequence[Variant]) -> tuple[Variant, ...]:
    """The fp32 build and the quantised one at the fewest threads that both were measured at; none without such."""
    if not exploration.sensitivity:
        return ()
    names = [
        candidate.experiment
        for precision in (_REFERENCE, exploration.sensitivity_scheme)
        for candidate in exploration.candidates
        if candidate.precision == precision and candidate.runtime == EXECUTORCH
    ]
    counts = [{variant.threads for variant in measured if variant.experiment == name} for name in names]
    common = set.intersection(*counts) if len(counts) == 2 else set()
    return tuple(Variant(name, min(common)) for name in names) if common else ()


def build_layer_rows(losses: Sequence[LayerLoss], *builds: VariantReport) -> tuple[LayerRow, ...]:
    """The layer that costs most first. Noise adds up as power, so each has its share of the sum."""
    noises = {loss.module: 10 ** (-loss.snr_db / 10) for loss in losses if loss.snr_db is not None}
    whole = sum(noises.values())
    rows = []
    for loss in losses:
        times = [_time_of(loss.module, build) for build in builds] or [None, None]
        share = noises.get(loss.module, 0.0) / whole if whole else 0.0
        rows.append(LayerRow(loss.module, loss.snr_db, share, *times))
    return tuple(sorted(rows, key=lambda row: -row.noise_share))


def _time_of(module: str, build: VariantReport) -> float | None:
    """The operators of the layer itself and of what lies in it; None where the trace shows none of them."""
    own = [
        row.mean_ms for row in build.operators if row.module_path == module or row.module_path.startswith(f"{module}.")
    ]
    return sum(own) if own else None
