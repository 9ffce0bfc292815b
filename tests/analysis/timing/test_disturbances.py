"""Blocks that were disturbed while they were timed, told from those that only look so."""

from dataclasses import replace
from typing import Any

import pytest

from builders import a_device_info, a_loaded_run, a_plan, a_result, a_session
from etprof.analysis.report import build_report
from etprof.analysis.timing.disturbances import find_disturbance, find_disturbed_blocks
from etprof.core.findings import FindingKind
from etprof.core.run import BlockResult, CpuState, CpuTime, ThreadTime
from system_files import PHONE_CORES

MS = 1_000_000
# What schedutil makes of the cores that nobody uses, while core 7 works.
IDLE = dict.fromkeys(PHONE_CORES, 614400)


def a_block(*threads: ThreadTime, wall_ms: int = 1000, **changes: Any) -> BlockResult:
    """A block that took a second."""
    cpu_time = CpuTime(wall_ms * MS, sum(thread.ran_ns for thread in threads), threads)
    return a_result(threads=max(1, len(threads)), cpu_time=cpu_time, **changes)


def ran(share: float, waited: float | None = 0.0, cores: tuple[int | None, int | None] = (7, 7)) -> ThreadTime:
    return ThreadTime(round(share * 1000 * MS), None if waited is None else round(waited * 1000 * MS), *cores)


def kinds(*results: BlockResult, **device: Any) -> list[FindingKind]:
    return [finding.kind for finding in find_disturbed_blocks("on", results, a_device_info(**device))]


@pytest.mark.parametrize(
    ("before", "after", "cores", "said"),
    [
        (PHONE_CORES, PHONE_CORES, (7, 7), ""),
        # Cores without a thread go up and down as they like.
        ({**IDLE, 7: 3_187_200}, PHONE_CORES, (7, 7), ""),
        # Core 4 went offline meanwhile: no other core has its place.
        (PHONE_CORES, {c: f for c, f in PHONE_CORES.items() if c != 4}, (7, 7), ""),
        (PHONE_CORES, {c: f for c, f in PHONE_CORES.items() if c != 7}, (7, 7), ""),
        ({**IDLE, 4: 2_400_000}, {**IDLE, 6: 2_400_000}, (4, 6), ""),
        (PHONE_CORES, {**PHONE_CORES, 7: 1_593_600}, (7, 7), "the CPU frequency moved by 50.0 %"),
        # A thread that was moved to a little core.
        (PHONE_CORES, PHONE_CORES, (7, 0), "the CPU frequency moved by 65.1 %"),
        ({}, {}, (7, 7), ""),
        (PHONE_CORES, PHONE_CORES, (None, None), ""),
    ],
)
def test_the_frequency_that_counts_is_that_under_the_thread(
    before: dict[int, int], after: dict[int, int], cores: tuple[int | None, int | None], said: str
) -> None:
    block = a_block(ran(0.99, cores=cores), cpu_before=CpuState(before), cpu_after=CpuState(after))
    assert find_disturbance(block, cpu_count=8) == said
    assert (FindingKind.FREQUENCY_MOVED in kinds(block, cpu_count=8)) == bool(said)


def test_the_frequency_under_a_thread_that_slept_says_nothing() -> None:
    states: dict[str, Any] = {"cpu_before": CpuState(PHONE_CORES), "cpu_after": CpuState({**PHONE_CORES, 4: 614_400})}
    assert find_disturbance(a_block(ran(0.99), ran(0.01, cores=(4, 4)), **states), cpu_count=8) == ""
    assert "frequency moved" in find_disturbance(a_block(ran(0.99), ran(0.8, cores=(4, 4)), **states), cpu_count=8)


def test_heat_is_a_disturbance_and_a_load_average_is_none() -> None:
    assert (
        find_disturbance(a_block(ran(1), cpu_after=CpuState(temperature_c=97.0)), 2) == "the CPU was hotter than 95 C"
    )
    assert find_disturbance(a_block(ran(1), cpu_before=CpuState(load_average=99.0)), 2) == ""


@pytest.mark.parametrize(
    ("threads", "said"),
    [
        ((ran(0.99, 0.005),), ""),
        ((ran(0.80, 0.20),), "a thread waited for a core 20.0 % of the time"),
        # Two threads that shared a core: together they had the CPU time of one.
        ((ran(0.51, 0.48), ran(0.48, 0.49)), "a thread waited for a core 49.0 % of the time"),
        # A serial model: the second thread slept, and nothing waited.
        ((ran(0.99, 0.001), ran(0.02, 0.001)), ""),
        # Where the system does not tell, a lone thread has nothing to wait for but its core ...
        ((ran(0.99, None),), ""),
        ((ran(0.80, None),), "the main thread was not running 20.0 % of the time"),
        # ... and the first of several may have waited for the others.
        ((ran(0.80, None), ran(0.9, None)), ""),
        ((ran(0.51, None), ran(0.48, None)), "the main thread was not running 49.0 % of the time"),
    ],
)
def test_threads_that_lacked_their_cores_are_a_finding_and_a_reason_to_try_again(
    threads: tuple[ThreadTime, ...], said: str
) -> None:
    block = a_block(*threads)
    assert find_disturbance(block, cpu_count=4) == said
    assert kinds(block, cpu_count=4) == ([FindingKind.CORES_MISSING] if said else [])


def test_the_worst_block_is_the_one_that_is_named() -> None:
    blocks = [a_block(ran(1 - waited, waited)) for waited in (0.02, 0.095, 0.5, 0.11)]
    (finding,) = find_disturbed_blocks("on, 1 thread", blocks, a_device_info())
    assert finding.message == (
        "on, 1 thread: in 2 of 4 blocks the threads did not have their cores: "
        "a thread waited for a core 50.0 % of the time."
    )


@pytest.mark.parametrize(
    ("threads", "affinity", "cpu_count", "usable"),
    [(64, (), 2, 2), (2, (0,), 8, 1), (3, (0, 1, 2, 3), 2, 2), (2, (0, 1), 2, None), (2, (), 2, None)],
)
def test_more_threads_than_usable_cores_are_a_finding(
    threads: int, affinity: tuple[int, ...], cpu_count: int, usable: int | None
) -> None:
    found = list(find_disturbed_blocks("on", [a_result(threads=threads, cpu_affinity=affinity)],
                                       a_device_info(cpu_count=cpu_count)))  # fmt: skip
    assert [f.kind for f in found] == ([] if usable is None else [FindingKind.TOO_MANY_THREADS])
    if usable:
        verb, noun = ("is", "core") if usable == 1 else ("are", "cores")
        assert found[0].message == f"on: there {verb} only {usable} usable {noun}, so the threads took turns."


def test_a_block_with_more_threads_than_cores_is_not_tried_again() -> None:
    block = a_block(ran(0.5, 0.5), ran(0.5, 0.5), cpu_affinity=(0,))
    assert find_disturbance(block, cpu_count=8) == ""
    assert kinds(block, cpu_count=8) == [FindingKind.TOO_MANY_THREADS, FindingKind.CORES_MISSING]


def test_what_was_not_recorded_is_no_reason_for_doubt() -> None:
    assert find_disturbance(a_result(), cpu_count=2) == ""
    assert kinds(a_result()) == []
    assert kinds(a_block()) == []
    assert kinds() == []
    assert find_disturbance(a_block(ran(0.5, 0.5), error="crashed"), cpu_count=2) == ""


def test_an_emulated_device_draws_none_of_these() -> None:
    hot = CpuState(PHONE_CORES, temperature_c=40.0, throttling=3, governors=("a",))
    other = CpuState({7: 1}, temperature_c=99.0, throttling=0, governors=("b",))
    block = a_block(ran(0.5, 0.5), ran(0.5, 0.5), cpu_affinity=(0,), cpu_before=hot, cpu_after=other)
    session = a_session(a_plan(), (replace(block, threads=1, index=0),))
    for real in (True, False):
        device = a_device_info(cpu_count=1, times_are_real=real)
        report = build_report(a_loaded_run(replace(session, device=device)), title="t", created_at="now")
        found = {finding.kind for finding in report.findings}
        machine = {FindingKind.CORES_MISSING, FindingKind.FREQUENCY_MOVED, FindingKind.THROTTLED,
                   FindingKind.GOVERNOR_CHANGED, FindingKind.TEMPERATURE_ROSE}  # fmt: skip
        assert found & machine == (machine if real else set())
    assert kinds(block, cpu_count=1, times_are_real=False) == []
