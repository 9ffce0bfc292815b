"""Inferences on a time line: slices that nest, with the times and identities of the operators they stand for."""

from dataclasses import replace
from pathlib import Path

import pytest

from etdump_builder import Event
from etprof.analysis.operators.operator_statistics import build_operators
from etprof.analysis.operators.timeline import build_tracks
from etprof.core.plan import Variant
from etprof.core.report import Slice, Track
from etprof.core.trace import Trace
from trace_builder import RECORDED, a_call, an_inference, read_inferences, recorded

ON = Variant("on", 1)
CONVOLUTION, ADD, MEAN = "Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1", "native_call_mean.out"


def an_example(folder: Path, *convolutions_us: int) -> Trace:
    """An inference with a convolution of each of these lengths, every millisecond."""
    inferences = (
        an_inference([(CONVOLUTION, us), (ADD, 10)], portable=[(MEAN, 5)], start_us=1000 * run)
        for run, us in enumerate(convolutions_us)
    )
    return read_inferences(folder, *inferences)


def assert_nested(track: Track) -> None:
    """Every slice lies in the last one before it that is less deep, and begins where its neighbour ended or later."""
    parents: list[Slice] = []
    ends: dict[int, int] = {}
    for piece in track.slices:
        del parents[piece.depth :]
        assert len(parents) == piece.depth
        end = piece.start_ns + piece.duration_ns
        if parents:
            assert parents[-1].start_ns <= piece.start_ns
            assert end <= parents[-1].start_ns + parents[-1].duration_ns
        assert piece.start_ns >= ends.get(piece.depth, 0)
        ends[piece.depth] = end
        parents.append(piece)


def test_the_mean_of_the_steady_inferences_comes_first_then_they_as_recorded(tmp_path: Path) -> None:
    mean, as_recorded = build_tracks(ON, [an_example(tmp_path, 900, 100, 300)])
    assert (mean.name, mean.inferences) == ("mean of 2 traced inferences", 2)
    assert (as_recorded.name, as_recorded.inferences) == ("2 of 2 inferences as recorded in the first block", 1)
    assert {mean.variant, as_recorded.variant} == {ON}
    assert [(piece.name, piece.depth, piece.start_ns, piece.duration_ns) for piece in mean.slices] == [
        ("Method::execute", 0, 0, 220_000),
        ("DELEGATE_CALL", 1, 0, 213_000),
        (CONVOLUTION, 2, 0, 200_000),
        (ADD, 2, 200_000, 10_000),
        ("OPERATOR_CALL", 1, 213_000, 5_000),
        (MEAN, 2, 213_000, 5_000),
    ]
    starts = [piece.start_ns for piece in as_recorded.slices if piece.depth == 0]
    assert starts == [0, 1_000_000]


def test_operators_carry_category_and_identity_and_containers_do_not(tmp_path: Path) -> None:
    mean, _ = build_tracks(ON, [an_example(tmp_path, 100)])
    assert {piece.name: (piece.category, piece.identity) for piece in mean.slices} == {
        "Method::execute": ("", ""),
        "DELEGATE_CALL": ("", ""),
        "OPERATOR_CALL": ("", ""),
        CONVOLUTION: ("Convolution", "d0.0"),
        ADD: ("Elementwise", "d0.1"),
        MEAN: ("Other", "p0"),
    }


def test_several_processes_are_one_mean_weighted_by_their_inferences(tmp_path: Path) -> None:
    traces = [an_example(tmp_path, 900, 100), an_example(tmp_path, 900, 200, 300)]
    mean, as_recorded = build_tracks(ON, traces)
    assert mean.inferences == 3
    assert next(piece for piece in mean.slices if piece.name == CONVOLUTION).duration_ns == 200_000
    assert as_recorded.name.startswith("1 of 1 inferences")


def test_kinds_of_inferences_have_tracks_of_their_own_with_the_identities_of_the_operator_table(tmp_path: Path) -> None:
    inferences = [an_inference(a_call(name), start_us=100 * run) for run, name in enumerate([ADD, ADD, CONVOLUTION])]
    trace = read_inferences(tmp_path, *inferences)
    first, second, as_recorded = build_tracks(ON, [trace])
    assert [first.name, second.name] == [
        "mean of 1 traced inference, signature 1 of 2",
        "mean of 1 traced inference, signature 2 of 2",
    ]
    known = {row.identity: row.name for row in build_operators([trace])}
    assert known == {"s0.d0.0": ADD, "s1.d0.0": CONVOLUTION}
    for track in (first, second, as_recorded):
        shown = {piece.identity: piece.name for piece in track.slices if piece.identity}
        assert shown
        assert shown.items() <= known.items()


def test_a_call_shorter_than_its_operators_is_drawn_around_them(tmp_path: Path) -> None:
    trace = an_example(tmp_path, 100)
    short = replace(trace, duration_ns=trace.duration_ns.copy())
    short.duration_ns[[trace.names[n] == "DELEGATE_CALL" for n in trace.name]] -= 50_000
    mean, _ = build_tracks(ON, [short])
    times = {piece.name: piece.duration_ns for piece in mean.slices}
    assert (times[CONVOLUTION], times[ADD], times["DELEGATE_CALL"]) == (100_000, 10_000, 110_000)
    assert_nested(mean)


def test_an_operator_outside_of_its_call_is_not_drawn_in_another(tmp_path: Path) -> None:
    *call, whole = an_inference([(ADD, 10)])
    before, after = (Event(CONVOLUTION, at, at + 500, 7, delegated=True) for at in (100, 13_200))
    mean, _ = build_tracks(ON, [read_inferences(tmp_path, (before, *call, after, whole))])
    assert {piece.identity: piece.depth for piece in mean.slices if piece.identity} == {"x0": 1, "d0.0": 2, "x1": 1}


def test_of_very_many_events_some_inferences_are_shown_whole(tmp_path: Path) -> None:
    call = a_call(*[ADD] * 1000)
    trace = read_inferences(tmp_path, *(an_inference(call, start_us=2000 * run) for run in range(8)))
    _, as_recorded = build_tracks(ON, [trace])
    assert as_recorded.name == "4 of 7 inferences as recorded in the first block"
    assert len(as_recorded.slices) == 4 * 1002


@pytest.mark.parametrize("name", RECORDED)
def test_slices_of_real_traces_nest(name: str) -> None:
    tracks = build_tracks(ON, [recorded(name)])
    assert tracks
    for track in tracks:
        assert track.slices
        assert_nested(track)


def test_nothing_recorded_is_no_track() -> None:
    assert build_tracks(ON, []) == ()
