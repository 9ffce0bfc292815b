"""peaks.json on disk: in the folder of a run beside its manifest, and among the files kept for each device."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etprof.core.errors import StoreError
from etprof.core.layout import PEAKS
from etprof.core.peaks import PEAK_LOOPS, Peaks
from etprof.store.json_file import read_json, write_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# 1: the first. Raise it when a loop of the runner changes what it measures: peaks of older versions are measured again.
SCHEMA_VERSION = 1
_HINT = "Delete it: `etprof devices peaks` measures again what the CPU can do."


@cache
def _adapter() -> "TypeAdapter[Peaks]":
    from pydantic import TypeAdapter

    return TypeAdapter(Peaks)


def save_peaks(folder: Path, peaks: Peaks) -> Path:
    path = folder / PEAKS
    write_json(path, describe_peaks(peaks))
    return path


def describe_peaks(peaks: Peaks) -> dict[str, Any]:
    """What the file holds."""
    return {"schema_version": SCHEMA_VERSION, **_adapter().dump_python(peaks, mode="json")}


def load_peaks(folder: Path) -> Peaks | None:
    """None where the folder has none, or only those of another version; a link to a file elsewhere is not followed."""
    path = folder / PEAKS
    if path.is_symlink() or not path.is_file():
        return None
    content = read_json(path, hint=_HINT)
    if not isinstance(content, dict):
        raise StoreError(f"{path} is not a file of etprof.", hint=_HINT)
    if content.get("schema_version") != SCHEMA_VERSION:
        return None
    from pydantic import ValidationError

    try:
        peaks = _adapter().validate_python({key: value for key, value in content.items() if key != "schema_version"})
    except ValidationError as error:
        raise StoreError(f"{path} is damaged: {error.errors()[0]['msg']}.", hint=_HINT) from error
    if not is_possible(peaks):
        raise StoreError(f"{path} is damaged: a rate, or the architecture, cannot be.", hint=_HINT)
    return peaks


def is_possible(peaks: Peaks) -> bool:
    rates = [each.gmac_per_s for each in peaks.throughputs] + [each.gb_per_s for each in peaks.bandwidths]
    known = peaks.architecture in PEAK_LOOPS
    return known and all(0 < rate.low <= rate.value <= rate.high < float("inf") for rate in rates)
