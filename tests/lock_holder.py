"""Another process that holds the folder of a run."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLD = """
import sys
from pathlib import Path
from etprof.store.run_lock import hold_run_folder
with hold_run_folder(Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""


@contextmanager
def held_by_another(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", _HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None  # a pipe, as asked for
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder
        finally:
            holder.kill()
