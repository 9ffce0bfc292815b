"""Options of the XNNPACK backend that take effect when a model is loaded, as far as the tested ExecuTorch has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from etprof.core.errors import nearest_names_hint

LoadOptionValue = bool | int | str
LoadOptions = tuple[tuple[str, LoadOptionValue], ...]

PACKED_CACHE = "packed_cache_path"
WEIGHT_CACHE = "weight_cache_enabled"
# A plain name: the file is put into the folder of the run.
PACKED_CACHE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
SHARING_MODES = 3


@dataclass(frozen=True)
class LoadOption:
    """`takes` is what its values are, in words, and `type` in Python."""

    type: type
    takes: str
    meaning: str


# The backend ignores names that it does not know, so that they have to be refused here.
LOAD_OPTIONS: Mapping[str, LoadOption] = {
    "workspace_sharing_mode": LoadOption(
        int, "0, 1 or 2", "delegates have a workspace each (0), one for each program (1), or one for all (2)"
    ),
    WEIGHT_CACHE: LoadOption(bool, "true or false", "delegates with the same weights share their packed form"),
    PACKED_CACHE: LoadOption(
        str, "a plain file name", f"packed weights are kept in this file for later starts; needs {WEIGHT_CACHE}"
    ),
}


def find_problem(options: Mapping[str, object]) -> str:
    """What is wrong with these options, as a phrase; empty for options that the backend has."""
    for name, value in options.items():
        known = LOAD_OPTIONS.get(name)
        if known is None:
            near = nearest_names_hint(name, LOAD_OPTIONS)
            return f"XNNPACK has no load option {name!r}; {near or 'known: ' + ', '.join(LOAD_OPTIONS)}"
        fits = type(value) is known.type
        if fits and isinstance(value, str):
            fits = re.fullmatch(PACKED_CACHE_NAME, value) is not None
        elif fits and known.type is int:
            fits = value in range(SHARING_MODES)
        if not fits:
            return f"{name} takes {known.takes}"
    if PACKED_CACHE in options and options.get(WEIGHT_CACHE) is not True:
        return f"{PACKED_CACHE} needs {WEIGHT_CACHE}: true"
    return ""


def format_options(options: LoadOptions) -> str:
    """As runners take them: name=value, with commas between."""
    return ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options)
