"""Each sample belongs to the operator that ran at its moment, or to none."""

from pathlib import Path

import numpy as np

from etdump_builder import Event
from etprof.analysis.kernels.sample_attribution import NOWHERE, attribute_samples
from etprof.core.trace import Trace
from sample_builder import US, a_sampled_trace
from trace_builder import an_inference, read_inferences


def owners(trace: Trace, *times_ns: int) -> list[str]:
    """The identities of the operators that the samples at these times belong to."""
    found = attribute_samples(trace, np.array(times_ns, np.int64))
    return [trace.identity(found.rows[i]) if i != NOWHERE else "" for i in found.operator.tolist()]


def test_a_sample_belongs_to_the_operator_that_ran(tmp_path: Path) -> None:
    times = [at * US for at in (5, 10, 109, 111, 209, 215, 300, 349, 360, 1010, 1111, 9000)]
    assert owners(a_sampled_trace(tmp_path), *times) == [
        "", "d0.0", "d0.0", "d0.1", "d0.1", "", "p0", "p0", "", "d0.0", "d0.1", "",
    ]  # fmt: skip


def test_what_was_cut_off_each_operator_moves_the_later_ones(tmp_path: Path) -> None:
    # Half a microsecond is put back for each operator before: the second begins at 110.5, not at 110.0.
    assert owners(a_sampled_trace(tmp_path), 110_400, 110_600) == ["d0.0", "d0.1"]


def test_nothing_was_cut_off_a_portable_operator(tmp_path: Path) -> None:
    assert owners(a_sampled_trace(tmp_path), 300 * US, 350 * US) == ["p0", ""]


def test_an_operator_of_no_length_takes_no_sample_from_the_next(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference([("Copy (NC, X32) #1", 0), ("Add (ND) #1", 10)]))
    assert owners(trace, 400, 600, 5_000) == ["d0.0", "d0.1", "d0.1"]


def test_the_same_operator_of_several_inferences_is_one_and_that_of_another_kind_is_not(tmp_path: Path) -> None:
    def inference(name: str, start_us: int) -> tuple[Event, ...]:
        return an_inference([(name, 50)], start_us=start_us)

    trace = read_inferences(tmp_path, inference("Add (ND) #1", 0), inference("Add (ND) #1", 100), inference("Mul", 200))
    found = attribute_samples(trace, np.array([10, 110, 210], np.int64) * US)
    first, second, other = found.operator.tolist()
    assert first == second != other
    assert trace.names[trace.name[found.rows[other]]] == "Mul"


def test_a_trace_without_operators_takes_no_samples(tmp_path: Path) -> None:
    assert owners(read_inferences(tmp_path, (Event("Method::execute", 0, 100),)), 5) == [""]
