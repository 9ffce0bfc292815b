"""Which operators the runners have: the names in the libraries that they load, whatever CPU those are for."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from etprof.runner.sdk import installed_sdk

# Operators for language models, which the wheel has only for programs that load torch.
_CUSTOM = "extension/llm/custom_ops/libcustom_ops_aot_lib"


def find_missing(operators: Iterable[str], libraries: Sequence[Path]) -> tuple[str, ...]:
    """Those of these operators, such as aten::add.out, that none of the libraries registers.

    A library holds the name of each operator that it registers as a text that ends with a zero.
    """
    missing = dict.fromkeys(operators)
    for library in libraries:
        content = library.read_bytes() if missing else b""
        for name in [each for each in missing if each.encode() + b"\0" in content]:
            del missing[name]
    return tuple(missing)


def list_libraries(*, is_python: bool) -> tuple[Path, ...]:
    """What our runners load kernels from; those of this machine stand for those of every CPU in this version."""
    sdk = installed_sdk()
    custom = find_custom_library(sdk.prefix) if is_python else None
    return (*sdk.libraries, custom) if custom else sdk.libraries


def find_custom_library(package: Path) -> Path | None:
    """In the folder of the executorch package, where its wheel has it."""
    return next((path for suffix in (".so", ".dylib") if (path := package / f"{_CUSTOM}{suffix}").is_file()), None)
