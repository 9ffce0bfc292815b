"""The profile of a device on disk: plain JSON to be shared, checked as a stranger's file when it is read."""

from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etprof.core.device_profile import DeviceProfile, ProbedOperator
from etprof.core.errors import StoreError
from etprof.core.estimates import Interval
from etprof.store.json_file import read_json, write_json
from etprof.store.peaks_file import is_possible

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# 1: the first.
SCHEMA_VERSION = 1
_HINT = "A profile is what `etprof devices calibrate` writes."
# Many times what a calibration gives.
_MOST_OPERATORS, _MOST_LEVELS, _LONGEST_TEXT = 20_000, 16, 300
_LONGEST_US = 1e9


@cache
def _adapter() -> "TypeAdapter[DeviceProfile]":
    from pydantic import TypeAdapter

    return TypeAdapter(DeviceProfile)


def save_profile(path: Path, profile: DeviceProfile) -> None:
    write_json(path, describe_profile(profile))


def describe_profile(profile: DeviceProfile) -> dict[str, Any]:
    """What the file holds."""
    return {"schema_version": SCHEMA_VERSION, **_adapter().dump_python(profile, mode="json")}


def load_profile(path: Path) -> DeviceProfile:
    content = read_json(path, hint=_HINT)
    if not isinstance(content, dict) or "calibrated_at" not in content:
        raise StoreError(f"{path} is not the profile of a device.", hint=_HINT)
    version = content.pop("schema_version", None)
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} is a profile of version {str(version)[:20]!r}, not {SCHEMA_VERSION}.",
            hint="Calibrate the device again, with this version of etprof: etprof devices calibrate",
        )
    from pydantic import ValidationError

    try:
        profile = _adapter().validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])[:80]
        raise StoreError(f"{path} is damaged: {place}: {first['msg']}.", hint=_HINT) from error
    if problem := _find_problem(profile):
        raise StoreError(f"{path} is damaged: {problem}.", hint=_HINT)
    return profile


def _find_problem(profile: DeviceProfile) -> str:
    """What no calibration could have left."""
    levels = {level.name for level in profile.levels}
    probes = {each.probe for each in profile.operators}
    wrong = next((each.probe for each in profile.operators if not _could_be(each, levels)), "")
    problems = {
        "it has too many operators or levels": len(probes) > _MOST_OPERATORS or len(levels) > _MOST_LEVELS,
        "two levels or two operators have one name": (
            len(levels) < len(profile.levels) or len(probes) < len(profile.operators)
        ),
        "a number of threads or cores is not positive": min(profile.threads, profile.device.cpu_count) < 1,
        f"the times or sizes of the operator {wrong[:80]!r} cannot be": wrong,
        "its peaks cannot be": profile.peaks and not is_possible(profile.peaks),
    }
    return next((problem for problem, is_there in problems.items() if is_there), "")


def _could_be(operator: ProbedOperator, levels: set[str]) -> bool:
    extent = operator.extent
    sizes = (extent.rows, extent.depth, extent.columns)
    return (
        len(operator.probe) <= _LONGEST_TEXT
        and min(sizes) >= 1
        and max(sizes) < 2**53
        and set(operator.times_us) == levels
        and all(map(_is_time, operator.times_us.values()))
    )


def _is_time(time_us: Interval) -> bool:
    return all(map(isfinite, (time_us.value, time_us.low, time_us.high))) and (
        0 < time_us.low <= time_us.value <= time_us.high < _LONGEST_US
    )
