"""Which builds a race drops and why, and what the choice between them says once it is over."""

from dataclasses import replace
from typing import Any

import pytest

from builders import a_device_info, a_loaded_run, a_result
from etprof.analysis.exploration import find_dropped, list_undecided
from etprof.analysis.report import build_report
from etprof.core.estimates import Verdict
from etprof.core.exploration import Choice, Dropped, Exploration, LayerLoss, Standing
from etprof.core.plan import Variant
from etprof.core.run import Session
from exploration_builder import BUILDS, a_race, an_exploration

STATIC, DYNAMIC, FP32 = Variant("static_per_channel", 1), Variant("dynamic_per_channel", 1), Variant("fp32", 1)


def raced(session: Session) -> Session:
    """The session after what its last round decides."""
    assert session.exploration is not None
    return replace(session, dropped=(*session.dropped, *find_dropped(session, session.exploration)))


def choose(session: Session) -> Choice:
    report = build_report(a_loaded_run(session), title="A report", created_at="2026-01-02T00:00:00+00:00")
    assert report.choice is not None
    return report.choice


def standings(choice: Choice) -> dict[str, str]:
    return {row.experiment: str(row.standing) for row in choice.rows}


def test_who_is_worse_in_everything_is_dropped_with_the_reason() -> None:
    session = a_race()
    dropped = find_dropped(session, an_exploration())
    assert [each.variant.experiment for each in dropped] == ["static_per_tensor"]
    assert dropped[0].rounds == 6
    assert dropped[0].reason.startswith("static_per_channel, 1 thread is 1.1")
    assert dropped[0].reason.endswith("as fast and no worse in accuracy, file size and memory")


def test_who_was_dropped_is_not_dropped_again_and_leaves_no_comparison_open() -> None:
    session = raced(a_race())
    assert session.exploration is not None
    assert find_dropped(session, session.exploration) == ()
    assert len(list_undecided(session)) == 1, "fp16 against fp32, which take the same time"
    alone = replace(session, dropped=(*session.dropped, Dropped(Variant("fp16", 1), 6, "for this test")))
    assert list_undecided(alone) == {}


def test_more_memory_keeps_a_build_from_beating_another() -> None:
    session = a_race()
    results = tuple(
        replace(r, peak_bytes=70 << 20) if r.experiment == "static_per_channel" else r for r in session.results
    )
    assert find_dropped(replace(session, results=results), an_exploration()) == ()


def test_the_choice_has_a_row_for_everything_that_was_asked_for() -> None:
    choice = choose(raced(a_race()))
    assert standings(choice) == {
        **dict.fromkeys(BUILDS, "front"),
        "static_per_tensor": "dropped",
        "linear_dynamic_4bit": "not measured",
    }
    failed = choice.rows[-1]
    assert (failed.threads, failed.reason) == (None, "The model has no linear layer.")
    static = choice.of(STATIC)
    assert static.latency is not None
    assert static.latency.low < 8.0 * 1.004 < static.latency.high
    assert (static.blocks, static.peak_bytes, static.load_ms) == (6, 60 << 20, 0.7)


def test_without_a_floor_the_fastest_of_all_is_named() -> None:
    choice = choose(raced(a_race()))
    assert (choice.fastest, choice.smallest) == (STATIC, STATIC)


@pytest.mark.parametrize(("floor", "fastest"), [(30.0, STATIC), (35.0, DYNAMIC), (58.0, FP32), (95.0, None)])
def test_the_fastest_reaches_the_floor(floor: float, fastest: Variant | None) -> None:
    choice = choose(raced(a_race(exploration=an_exploration(min_snr_db=floor))))
    assert choice.fastest == fastest


def test_a_build_that_reaches_the_floor_is_not_dropped_for_one_that_does_not() -> None:
    """Beyond 60 dB an SNR is rounding, unless the floor lies there."""
    times = {"fp32": 20.0, "fp16": 10.0}
    candidates = tuple(replace(c, snr_db={"fp32": 90.0, "fp16": 70.0}[c.experiment], file_bytes=1)
                       for c in an_exploration().candidates if c.experiment in times)  # fmt: skip
    plain = Exploration(candidates)
    assert [each.variant.experiment for each in find_dropped(a_race(times=times, exploration=plain), plain)] == ["fp32"]
    strict = Exploration(candidates, min_snr_db=80.0)
    assert find_dropped(a_race(times=times, exploration=strict), strict) == ()


def test_the_metric_of_the_model_takes_the_place_of_the_snr() -> None:
    metrics = {"fp32": 0.71, "fp16": 0.71, "static_per_channel": 0.60, "static_per_tensor": 0.65}
    candidates = tuple(
        replace(c, metric=metrics.get(c.experiment, 0.70), file_bytes=1) for c in an_exploration().candidates[:-1]
    )
    exploration = Exploration(candidates, eager_metric=0.72, min_metric=0.69)
    choice = choose(raced(a_race(exploration=exploration)))
    assert choice.fastest == DYNAMIC
    assert standings(choice)["static_per_tensor"] == "front", "its metric is better than that of static_per_channel"


def test_builds_that_cannot_be_told_apart_are_a_tie_with_what_would_decide_it() -> None:
    choice = choose(raced(a_race()))
    (tie,) = choice.ties
    assert {tie.first.experiment, tie.second.experiment} == {"fp32", "fp16"}
    assert tie.verdict is Verdict.INCONCLUSIVE
    assert tie.more_rounds is not None
    assert choice.more_s == tie.more_rounds * 4.0, "a block of either takes two seconds"


def test_ties_that_are_noise_need_nothing_more() -> None:
    session = raced(a_race(rounds=30, times={"fp32": 20.0, "fp16": 20.0}))
    (tie,) = choose(session).ties
    assert (tie.verdict, tie.more_rounds, choose(session).more_s) == (Verdict.NO_DIFFERENCE, None, None)


def test_a_build_whose_blocks_failed_is_a_row_with_the_reason() -> None:
    session = a_race()
    results = tuple(
        a_result(r.experiment, r.index, error="no kernel for this operator\n  | log", latency_ns=())
        if r.experiment == "fp16" else r for r in session.results
    )  # fmt: skip
    choice = choose(replace(session, results=results))
    (row,) = (row for row in choice.rows if row.experiment == "fp16")
    assert (row.standing, row.reason) == (Standing.NOT_MEASURED, "no kernel for this operator")


def test_an_emulated_device_gives_no_choice_by_latency() -> None:
    choice = choose(a_race(device=a_device_info(times_are_real=False)))
    assert choice.fastest is None
    assert {row.standing for row in choice.rows} == {Standing.NOT_MEASURED}


def test_a_run_that_is_not_about_a_choice_has_none() -> None:
    session: Any = replace(a_race(), exploration=None)
    assert build_report(a_loaded_run(session), title="t", created_at="c").choice is None


def test_layers_are_ranked_by_their_share_of_the_noise() -> None:
    losses = (LayerLoss("stem", 40.0), LayerLoss("head", 30.0), LayerLoss("norm", None))
    exploration = an_exploration(sensitivity=losses, sensitivity_scheme="static_per_channel")
    choice = choose(a_race(exploration=exploration))
    assert [(row.module, round(row.noise_share, 3)) for row in choice.layers] == [
        ("head", 0.909),
        ("stem", 0.091),
        ("norm", 0.0),
    ]
    assert choice.layers_threads == 1
