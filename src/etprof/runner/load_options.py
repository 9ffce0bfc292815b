"""Sets load options of the XNNPACK backend in a Python process: the wheel's bindings have no function for them."""

import ctypes
from pathlib import Path

from etprof.core.errors import RunnerError, UsageError
from etprof.core.load_options import LOAD_OPTIONS, PACKED_CACHE, find_problem

_BACKEND = b"XnnpackBackend"
_SET_OPTION = "_ZN10executorch7runtime10set_optionEPKcNS0_4SpanINS0_13BackendOptionEEE"
# The numbers of the alternatives of ExecuTorch's OptionValue.
_BOOL, _INT = 0, 1


class _BackendOption(ctypes.Structure):
    """As executorch/runtime/backend/options.h declares it: a key, then a variant of bool, int and a text."""

    _fields_ = (("key", ctypes.c_char * 64), ("value", ctypes.c_int32 * 64), ("alternative", ctypes.c_uint32))


def parse_load_options(text: str) -> dict[str, bool | int | str]:
    """Out of name=value, with commas between; unknown ones are refused."""
    options: dict[str, bool | int | str] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        known = LOAD_OPTIONS.get(name)
        if known and known.type is bool and value in ("true", "false"):
            options[name] = value == "true"
        elif known and known.type is int and value.isdecimal():
            options[name] = int(value)
        else:
            options[name] = value
    if PACKED_CACHE in options:
        raise UsageError(f"The Python runner cannot set {PACKED_CACHE}.", hint="Use the native runner.")
    if problem := find_problem(options):
        raise UsageError(f"--load_options: {problem}.")
    return options


def set_load_options(options: dict[str, bool | int | str], runtime: Path) -> None:
    """`runtime` is the library of ExecuTorch that the bindings have loaded."""
    for name, value in options.items():
        option = _BackendOption(key=name.encode(), alternative=_BOOL if isinstance(value, bool) else _INT)
        option.value[0] = int(value)
        set_option = ctypes.CDLL(str(runtime))[_SET_OPTION]
        # A span is a pointer and a length, passed as two arguments.
        status = set_option(_BACKEND, ctypes.byref(option), ctypes.c_size_t(1))
        if status:
            raise RunnerError(f"XNNPACK refuses the load option {name}={value} with the error {status}.")
