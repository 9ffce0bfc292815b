"""The times of a workload's steps, as a runner writes them: one whole number for each step of each timed sequence."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.errors import TraceError
from etprof.core.regular_files import read_regular
from etprof.core.workload import MOST_STEP_TIMES

# What the file begins with; the number of sequences and that of steps in each follow, then the times in nanoseconds,
# sequence by sequence. All numbers are little-endian and have 8 bytes.
MAGIC = b"ETSTEPS1"
_HEADER_BYTES = len(MAGIC) + 16
# A hundred days.
_MOST_NS = 1 << 53
_HINT = "The file is damaged, or was not written by a runner of etprof. Run the plan again."


def read_steps(path: Path) -> NDArray[np.int64]:
    """A row for each timed sequence, a column for each step, in nanoseconds."""
    try:
        content = read_regular(path, _HEADER_BYTES + 8 * MOST_STEP_TIMES)
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.") from error
    if content[: len(MAGIC)] != MAGIC or len(content) < _HEADER_BYTES:
        raise TraceError(f"{path} does not hold the times of steps.", hint=_HINT)
    sequences, steps = np.frombuffer(content, "<i8", 2, len(MAGIC)).tolist()
    if not 0 < steps <= MOST_STEP_TIMES or not 0 <= sequences <= MOST_STEP_TIMES // steps:
        raise TraceError(f"{path} says that it has {sequences} sequences of {steps} steps.", hint=_HINT)
    if len(content) != _HEADER_BYTES + 8 * sequences * steps:
        raise TraceError(f"{path} does not have the size of {sequences} sequences of {steps} steps.", hint=_HINT)
    times = np.frombuffer(content, "<i8", offset=_HEADER_BYTES).reshape(sequences, steps).astype(np.int64, copy=False)
    if times.size and not 0 <= times.min() <= times.max() <= _MOST_NS:
        raise TraceError(f"{path} holds a time that no step takes.", hint=_HINT)
    return times
