"""A workload as numbers: which step belongs to which phase, at which position, and which steps are traced."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etprof.core.workload import (
    ARANGE,
    MOST_POSITION,
    MOST_STEPS,
    MOST_TRACED,
    VALUE,
    Phase,
    PhaseInput,
    Step,
    Workload,
    find_problem,
)

PREFILL = Phase("prefill", inputs=(PhaseInput(VALUE, shape=(1, 4)), PhaseInput(ARANGE, shape=(4,))))
DECODE = Phase("decode", inputs=(PhaseInput(VALUE, shape=(1, 1)), PhaseInput(ARANGE, shape=(1,))), repeats=3)


def test_the_position_runs_on_over_phases_and_a_reset_takes_it_back() -> None:
    workload = Workload((PREFILL, DECODE, replace(DECODE, name="again", repeats=2, resets=True)))
    assert list(workload.steps) == [
        Step(0, 0, 0), Step(1, 0, 4), Step(1, 1, 5), Step(1, 2, 6), Step(2, 0, 0), Step(2, 1, 1),
    ]  # fmt: skip
    assert (workload.bounds, workload.starts, workload.step_count) == (((0, 1), (1, 4), (4, 6)), (0, 4, 0), 6)


def test_a_phase_may_say_how_far_its_steps_move() -> None:
    one_position = Phase("prefill", inputs=(PhaseInput(VALUE, shape=(1, 32)), PhaseInput(ARANGE, shape=(1,))))
    assert (one_position.stride, replace(one_position, advance=32).stride) == (1, 32)
    assert (Phase("frame").stride, Phase("frame", advance=0).stride) == (1, 0)


def test_a_step_is_described_as_a_reader_counts() -> None:
    workload = Workload((PREFILL, DECODE))
    assert [workload.describe_step(n) for n in (0, 3)] == ["step 1 (prefill 1 of 1)", "step 4 (decode 3 of 3)"]


@given(st.lists(st.integers(1, 500), min_size=1, max_size=8))
def test_arrays_agree_with_the_list_of_steps_and_traced_steps_are_spread_evenly(repeats: list[int]) -> None:
    phases = tuple(Phase(f"p{n}", repeats=each, resets=n % 3 == 2, advance=n) for n, each in enumerate(repeats))
    workload = Workload(phases)
    steps = list(workload.steps)
    assert workload.positions.tolist() == [step.position for step in steps]
    assert [workload.phase_of(n) for n in range(len(steps))] == [step.phase for step in steps]
    traced = workload.traced_steps
    assert (np.diff(traced) > 0).all()
    for first, end in workload.bounds:
        own = traced[(traced >= first) & (traced < end)]
        assert (own[0], own[-1], len(own)) == (first, end - 1, min(end - first, MOST_TRACED))
        assert np.ptp(np.diff(own)) <= 1 if len(own) > 1 else True


def test_a_million_steps_take_no_objects() -> None:
    workload = Workload((Phase("decode", repeats=MOST_STEPS),))
    assert (len(workload.positions), len(workload.traced_steps)) == (MOST_STEPS, MOST_TRACED)


@pytest.mark.parametrize(
    "workload",
    [
        Workload(()),
        Workload((DECODE, DECODE)),
        Workload((replace(DECODE, name="../x"),)),
        Workload((replace(DECODE, repeats=MOST_STEPS + 1),)),
        Workload((replace(DECODE, repeats=0),)),
        Workload((replace(DECODE, advance=-1),)),
        Workload((replace(DECODE, advance=MOST_POSITION), replace(DECODE, name="next"))),
        Workload((Phase("a", inputs=(PhaseInput("other"),)),)),
        Workload((Phase("a", inputs=(PhaseInput(VALUE, shape=(-1,)),)),)),
    ],
)
def test_what_no_workload_of_ours_has_is_named(workload: Workload) -> None:
    assert find_problem(workload)
    assert not find_problem(Workload((PREFILL, DECODE)))
