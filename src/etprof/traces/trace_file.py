"""A trace of whatever runtime wrote it: what the file holds decides how it is read."""

from pathlib import Path

from etprof.core.regular_files import open_regular
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.core.trace import Trace
from etprof.traces.etdump import IDENTIFIER, read_etdump


def read_trace(path: Path) -> Trace:
    # Files of a run are opened once: their suffix says enough.
    head = b"" if path.suffix == RUNTIMES[EXECUTORCH].trace_suffix else _read_head(path)
    if IDENTIFIER in (head[4:8], head[8:12]) or head[:1] != b"[":
        return read_etdump(path)
    from etprof.traces.onnxruntime_profile import read_profile

    return read_profile(path)


def _read_head(path: Path) -> bytes:
    """Nothing of what is not there or cannot be read, which the reader of ETDumps says in a sentence."""
    try:
        with open_regular(path) as file:
            return file.read(12)
    except OSError:
        return b""
