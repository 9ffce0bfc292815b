"""Tells the first, cold inference of each recording apart from the steady ones."""

import numpy as np
from numpy.typing import NDArray

from etprof.core.trace import Trace


def find_steady(trace: Trace) -> NDArray[np.bool_]:
    """Per run. The first run of each signature is cold, unless it is the only one that there is."""
    steady = np.ones(trace.run_count, np.bool_)
    _, first, count = np.unique(trace.signature, return_index=True, return_counts=True)
    steady[first[count > 1]] = False
    return steady


def select_rows(trace: Trace, runs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows that belong to the chosen runs."""
    # One more entry, for run -1: what belongs to no run is never chosen.
    chosen = np.append(runs, False)
    rows: NDArray[np.bool_] = chosen[trace.run]
    return rows
