"""The parts of a peak add up to it, whatever was read; stages and starts are medians of blocks."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_loaded_run, a_plan, a_result, a_session
from etprof.analysis.memory_use import describe_memory, split_peak
from etprof.analysis.report import build_report
from etprof.analysis.timing.latency import summarize_latency
from etprof.core import memory as names
from etprof.core.memory import Cached, LoadStage, classify_cached
from etprof.core.plan import ALTERNATE, AS_IS, CACHED, Schedule
from memory_builder import MIB, STAGES, a_block, a_stage, slowed

sizes = st.integers(0, 1 << 40)


@given(
    st.lists(st.tuples(st.sampled_from(names.STAGES), sizes, sizes, sizes, sizes, sizes), max_size=8),
    sizes,
    sizes,
)
def test_the_parts_add_up_to_the_peak(read: list[tuple[str, int, int, int, int, int]], planned: int, more: int) -> None:
    stages = [
        LoadStage(name, rss_bytes=sum(held), model_bytes=held[0], library_bytes=held[1], cache_bytes=held[2],
                  file_bytes=held[3], anonymous_bytes=held[4])
        for name, *held in read
    ]  # fmt: skip
    peak = max((stage.rss_bytes or 0 for stage in stages), default=0) + more
    parts = split_peak(stages, peak, planned)
    assert sum(part.bytes for part in parts) == (peak if any(stage.rss_bytes for stage in stages) else 0)
    assert all(part.bytes > 0 for part in parts)


def test_a_peak_in_inferences_is_divided_by_when_memory_came() -> None:
    parts = {part.name: part.bytes / MIB for part in split_peak(STAGES, 30 * MIB, MIB)}
    assert parts == {
        names.WORKSPACE: pytest.approx(13.0, abs=1e-5), names.PACKED: pytest.approx(9.0, abs=1e-5),
        names.LIBRARY_PART: 6.0, names.PLANNED: 1.0, names.RUNTIME: pytest.approx(0.2, abs=1e-5),
        names.RUNNER_DATA: pytest.approx(0.8, abs=1e-5),
    }  # fmt: skip


def test_a_peak_while_the_method_is_loaded_has_the_models_file_and_no_workspace() -> None:
    stages = (*STAGES[:4], STAGES[4], a_stage(names.FIRST, 11))
    parts = {part.name: round(part.bytes / MIB, 3) for part in split_peak(stages, STAGES[3].rss_bytes or 0, MIB)}
    assert parts[names.MODEL_FILE] == 8.0
    assert parts[names.PACKED] == 9.0
    assert names.WORKSPACE not in parts


def test_what_lies_between_two_readings_is_unattributed_and_last() -> None:
    use = describe_memory([a_block(peak_bytes=60 * MIB)])
    assert use is not None
    assert use.parts[-1].name == names.UNATTRIBUTED
    assert use.unattributed == pytest.approx(0.5)


def test_a_system_that_does_not_divide_memory_has_its_peak_alone() -> None:
    use = describe_memory([a_result(peak_bytes=5 * MIB, stages=(LoadStage(names.METHOD, rss_bytes=4 * MIB),))])
    assert use is not None
    assert (use.peak_bytes, use.parts, [stage.name for stage in use.stages]) == (5 * MIB, (), [names.METHOD])
    assert describe_memory([a_result(peak_bytes=None)]) is None


def test_the_plan_of_the_program_stands_in_where_the_runner_does_not_tell() -> None:
    use = describe_memory([a_block(planned_bytes=None)], 2 * MIB)
    assert use is not None
    assert {part.name: part.bytes for part in use.parts}[names.PLANNED] == 2 * MIB


def test_stages_are_medians_over_blocks() -> None:
    larger = tuple(replace(stage, rss_bytes=(stage.rss_bytes or 0) + 2 * MIB) for stage in STAGES)
    use = describe_memory([a_block(index=0), a_block(index=1), a_block(index=2, stages=larger)])
    assert use is not None
    assert {stage.name: stage.rss_bytes for stage in use.stages}[names.STEADY] == STAGES[-1].rss_bytes


def test_starts_are_told_apart_by_where_the_file_was() -> None:
    cold = [a_block(index=index, cached=0.0, stages=slowed(STAGES, 3)) for index in (1, 3)]
    use = describe_memory([a_block(index=0), a_block(index=2), *cold])
    assert use is not None
    assert [(start.cached, start.blocks) for start in use.starts] == [(Cached.IN, 2), (Cached.OUT, 2)]
    warm, dropped = use.starts
    assert [stage.name for stage in warm.stages] == list(names.TIMED_STAGES)
    assert warm.total_ms == pytest.approx(37.5)
    assert dropped.total_ms == pytest.approx(112.5)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, Cached.UNKNOWN), (1.0, Cached.IN), (0.995, Cached.IN), (0.5, Cached.PARTLY), (0.01, Cached.OUT)],
)
def test_a_page_more_or_less_does_not_matter(share: float | None, expected: Cached) -> None:
    assert classify_cached(share) is expected


def test_a_file_that_stayed_in_the_page_cache_is_counted_where_it_was_to_leave() -> None:
    blocks = [a_block(index=index) for index in range(4)]
    for page_cache, stayed in ((ALTERNATE, 2), (CACHED, 0), (AS_IS, 0)):
        use = describe_memory(blocks, schedule=Schedule(page_cache=page_cache))
        assert use is not None
        assert use.stayed_cached == stayed


def test_an_emulated_peak_is_not_divided_and_has_no_times() -> None:
    use = describe_memory([a_block()], times_are_real=False)
    assert use is not None
    assert (use.peak_bytes > 0, use.parts, use.stages, use.starts) == (True, (), (), ())


def test_load_time_and_first_inference_are_those_with_the_file_in_the_page_cache() -> None:
    blocks = [
        a_block(index=0, load_ns=10_000_000, warmup_ns=(5_000_000,)),
        a_block(index=1, load_ns=90_000_000, warmup_ns=(50_000_000,), cached=0.0),
    ]
    latency = summarize_latency(blocks)
    assert latency is not None
    assert (latency.load_ms, latency.cold_ms) == (10.0, 5.0)
    alone = summarize_latency(blocks[1:])
    assert alone is not None
    assert alone.load_ms == 90.0


def test_a_report_has_the_memory_of_each_variant() -> None:
    plan = a_plan(blocks=1)
    run = a_loaded_run(a_session(plan, tuple(a_block(e.name) for e in plan.experiments)))
    report = build_report(run, title="t", created_at="now")
    for variant in report.variants:
        assert variant.memory is not None
        assert sum(part.bytes for part in variant.memory.parts) == variant.memory.peak_bytes == variant.peak_bytes
