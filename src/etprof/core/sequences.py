"""Traces of workloads: which phase each inference is a step of, by its order in the sequences that were traced."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from etprof.core.trace import Trace
from etprof.core.workload import Workload


def mark_phases(trace: Trace, workload: Workload | None) -> Trace:
    """The trace with the phases of its inferences; as it is where it does not hold whole sequences.

    Inferences of two phases never have the same signature, also where they ran the same operators. The first sequence
    is cold, unless it is the only one.
    """
    if workload is None or not trace.run_count or trace.run_count % len(workload.traced_steps):
        return trace
    order = number_phases(workload)
    sequences = trace.run_count // len(order)
    phase = np.tile(order, sequences)
    _, signature = np.unique(phase.astype(np.int64) << 32 | trace.signature, return_inverse=True)
    cold = np.zeros(trace.run_count, np.bool_)
    cold[: len(order)] = sequences > 1
    return replace(trace, signature=signature.astype(np.int32), phase=phase, cold=cold)


def number_phases(workload: Workload) -> NDArray[np.int32]:
    """The phase of each inference of a traced sequence."""
    ends = [end for _, end in workload.bounds]
    return np.searchsorted(ends, workload.traced_steps, side="right").astype(np.int32)
