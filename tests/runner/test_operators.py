"""Which operators a runner has is read from its libraries, without starting it."""

import json
import subprocess
import sys
from pathlib import Path

from etprof.runner.operators import find_custom_library, find_missing, list_libraries
from etprof.runner.sdk import installed_sdk
from parts import need

CUSTOM = ("llama::custom_sdpa.out", "llama::update_cache.out")
# What the runtime itself has registered, asked in a process that loads the same libraries.
REGISTERED = """
import json, sys
from etprof.runner.python_runner import _load_bindings
print(json.dumps(_load_bindings()._get_operator_names()))
"""


def test_a_name_is_found_with_its_end_only(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"\x7fELF\0aten::add.out\0aten::mul.Scalar_out\0")
    wanted = ("aten::add.out", "aten::mul.Scalar", "aten::mul.Scalar_out", "aten::add.out")
    assert find_missing(wanted, [library]) == ("aten::mul.Scalar",)
    assert find_missing((), [tmp_path / "absent"]) == ()


def test_every_operator_that_the_runtime_registers_is_found(libraries: None) -> None:
    done = subprocess.run([sys.executable, "-c", REGISTERED], capture_output=True, text=True, timeout=60, check=True)
    registered = json.loads(done.stdout.splitlines()[-1])
    assert len(registered) > 200
    assert find_missing(registered, list_libraries(is_python=False)) == ()


def test_operators_for_language_models_are_those_of_the_python_runner_only(libraries: None) -> None:
    assert find_missing(CUSTOM, list_libraries(is_python=False)) == CUSTOM
    need(find_custom_library(installed_sdk().prefix), "the installed wheel has no operators for language models")
    assert find_missing(CUSTOM, list_libraries(is_python=True)) == ()
