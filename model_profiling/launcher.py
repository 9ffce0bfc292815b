"""Starts etprof for the compatibility scripts: in the environment that has it, which may be the clone's `.venv`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SETUP = "bash model_profiling/scripts/setup_repo.sh"


def main(words: Sequence[str], *, several: Sequence[str] = ()) -> int:
    """Runs the command of a script; behind the options of `several` any number of values may stand.

    Whatever Python a user's shell finds starts this file, so it needs nothing but Python 3.8.
    """
    # Where the scripts found this module; a folder of the clone must not hide an installed package.
    sys.path[:] = [path for path in sys.path if path != str(ROOT)]
    if importlib.util.find_spec("etprof") is None:
        return _start_in_environment()
    from etprof.cli.main import main as run

    code = run(list(_repeat_options(words, several)))
    if code and shutil.which("etprof") is None:
        where = os.path.relpath(Path(sys.executable).with_name("etprof"))
        sys.stderr.write(f"note: `etprof` is {where} here, or activate its environment first\n")
    return code


def _start_in_environment() -> int:
    folder = ROOT / ".venv"
    python = folder / "bin" / "python"
    if python.exists() and Path(sys.prefix).resolve() != folder.resolve():
        os.execv(str(python), [str(python), *sys.argv])
    what = f"etprof is not installed in {folder}" if python.exists() else f"there is no {folder} yet"
    sys.stderr.write(f"error: {what}\nhint: {_SETUP}\n")
    return 1


def _repeat_options(words: Sequence[str], several: Sequence[str]) -> Iterator[str]:
    """`--only A B` as `--only A --only B`."""
    option = ""
    for word in words:
        if word.startswith("-"):
            option = word if word in several else ""
            if option:
                continue
        elif option:
            yield option
        yield word
