"""Kinds of inferences: numbered once over all traces, the same for times and for samples."""

from pathlib import Path

import pytest

from etprof.analysis.kernels.sample_counts import count_samples
from etprof.analysis.operators.operator_statistics import build_operators, collect_operators
from etprof.core.inferences import number_runs, split_inferences
from etprof.core.loaded_run import SampledBlock
from etprof.core.trace import Trace
from sample_builder import MOPA, met, samples
from trace_builder import RECORDED, Operators, a_call, an_inference, read_inferences, recorded

ADD, MUL, MEAN = "Add (ND) #1", "Multiply (ND) #1", "native_call_mean.out"


def a_trace_of(folder: Path, *inferences: Operators) -> Trace:
    """One inference for each delegate call, every millisecond."""
    return read_inferences(folder, *(an_inference(call, start_us=1000 * i) for i, call in enumerate(inferences)))


def test_a_single_kind_has_no_number(tmp_path: Path) -> None:
    traces = [a_trace_of(tmp_path, a_call(ADD, MUL)), a_trace_of(tmp_path, a_call(ADD, MUL), a_call(ADD, MUL))]
    (one,), (two,) = split_inferences(traces)
    assert (one.kind, two.kind) == (None, None)
    assert one.identities == two.identities == ("d0.0", "d0.1")
    assert (one.runs.tolist(), two.runs.tolist()) == ([0], [0, 1])


def test_kinds_are_numbered_in_order_of_appearance_over_all_traces(tmp_path: Path) -> None:
    first = a_trace_of(tmp_path, a_call(MUL), a_call(ADD), a_call(MUL))
    second = a_trace_of(tmp_path, a_call(ADD), a_call(ADD, MUL))
    parts = [
        [(part.kind, part.names, part.runs.tolist()) for part in each] for each in split_inferences([first, second])
    ]
    assert parts == [[(0, (MUL,), [0, 2]), (1, (ADD,), [1])], [(1, (ADD,), [0]), (2, (ADD, MUL), [1])]]
    assert number_runs([first, second]) == ({0: 0, 1: 1, 2: 0}, {0: 1, 1: 2})


def test_each_inference_has_its_row_of_durations(tmp_path: Path) -> None:
    trace = a_trace_of(tmp_path, [(ADD, 3), (MUL, 4)], [(ADD, 9)], [(ADD, 5), (MUL, 6)])
    ((both, one),) = split_inferences([trace])
    assert both.duration_ns.tolist() == [[3_000, 4_000], [5_000, 6_000]]
    assert one.duration_ns.tolist() == [[9_000]]
    assert [trace.names[trace.name[row]] for row in both.rows.tolist()] == [ADD, MUL]


def test_another_number_of_delegate_calls_is_another_kind(tmp_path: Path) -> None:
    one = read_inferences(tmp_path, an_inference(a_call(ADD)))
    two = read_inferences(tmp_path, an_inference(a_call(ADD), a_call()))
    (first,), (second,) = split_inferences([one, two])
    assert (first.calls, second.calls) == (1, 2)
    assert (first.identities, second.identities) == (("s0.d0.0",), ("s1.d0.0",))


def test_an_inference_without_operators_is_of_no_kind(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference(), an_inference(a_call(ADD), start_us=100))
    ((part,),) = split_inferences([trace])
    assert (part.kind, part.runs.tolist()) == (None, [1])
    assert number_runs([trace]) == ({1: None},)


def test_operator_tables_and_sample_counts_number_kinds_alike(tmp_path: Path) -> None:
    """Kernels are put beside operators by identity: a number of its own in each would put them beside others."""
    calls = {"first": a_call(ADD, MUL), "second": a_call(MUL, ADD), "third": a_call(MUL)}
    traces = [
        a_trace_of(tmp_path, calls["second"], calls["first"], calls["second"]),
        a_trace_of(tmp_path, calls["third"], calls["first"]),
    ]
    counted = count_samples([SampledBlock(samples(met(1, MOPA, 0)), trace) for trace in traces], ("SME",))
    tables = collect_operators(traces)
    named = {i: n for table in tables for i, n in zip(table.identities, table.names, strict=True)}
    assert named == {
        "s0.d0.0": MUL, "s0.d0.1": ADD, "s1.d0.0": ADD, "s1.d0.1": MUL, "s2.d0.0": MUL,
    }  # fmt: skip
    assert {identity: own.name for identity, own in counted.operators.items()} == named
    assert {row.identity: row.name for row in build_operators(traces)} == named


@pytest.mark.parametrize("name", RECORDED)
def test_operator_tables_and_sample_counts_agree_on_real_traces(name: str) -> None:
    traces = [recorded(name), recorded("two_methods")]
    counted = count_samples([SampledBlock(samples([]), trace) for trace in traces], ("SME",))
    rows = {row.identity: row.name for row in build_operators(traces)}
    assert len(rows) > 2
    assert {identity: own.name for identity, own in counted.operators.items()} == rows
