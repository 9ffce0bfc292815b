"""The log of a stock executor_runner: what it tells is read, what it does not tell stays unknown."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etprof.core.errors import TraceError
from etprof.core.trace import EventKind
from etprof.traces.etdump import read_etdump
from etprof.traces.stock_log import read_stock_log

DATA = Path(__file__).parents[1] / "data"
_PREFIX = "I 00:00:00.0{} executorch:executor_runner.cpp:{}] "


def make_log(times_ms: list[float], *, traced: bool = True) -> str:
    count = len(times_ms)
    words = [
        "Resetting threadpool with num threads = 4",
        "Model file toy.pte is loaded.",
        "Using method forward",
        "Model loaded in 12.500000 ms.",
        *(f"Iteration {i} of {count}: {ms:f} ms" for i, ms in enumerate(times_ms, 1)),
        f"Model executed successfully {count} time(s) in {sum(times_ms):f} ms.",
        "1 outputs: ",
        *(["ETDump written to file 'toy.etdump'."] if traced else []),
    ]
    return "\n".join(_PREFIX.format(100 + n, 300 + n) + text for n, text in enumerate(words))


def test_a_whole_log_is_read() -> None:
    log = read_stock_log(make_log([3.0, 2.0, 2.5]))
    assert log.iterations_ns == (3_000_000, 2_000_000, 2_500_000)
    assert (log.executions, log.total_ns) == (3, 7_500_000)
    assert (log.load_ns, log.threads, log.method_name, log.is_traced) == (12_500_000, 4, "forward", True)


@settings(deadline=None)
@given(st.lists(st.floats(0.001, 1e5), min_size=1, max_size=30))
def test_every_iteration_survives_to_the_nanosecond_the_log_has(times_ms: list[float]) -> None:
    log = read_stock_log(make_log(times_ms))
    assert log.iterations_ns == tuple(round(float(f"{ms:f}") * 1e6) for ms in times_ms)


def test_the_first_iterations_are_the_warm_up() -> None:
    result = read_stock_log(make_log([9.0, 5.0, 2.0, 2.1], traced=False)).as_result(warmup=2)
    assert result.warmup_ns == (9_000_000, 5_000_000)
    assert result.latency_ns == (2_000_000, 2_100_000)
    assert result.is_stock
    assert result.peak_bytes is None


def test_times_taken_under_a_tracer_say_so() -> None:
    modes = [read_stock_log(make_log([1.0], traced=on)).as_result(0).latency_is_traced for on in (False, True)]
    assert modes == [False, True]


def test_a_log_with_messages_for_debugging_is_that_of_a_debug_build() -> None:
    assert not read_stock_log(make_log([2.0])).as_result(0).has_debug_log
    debugging = f"D 00:00:00.000321 executorch:method.cpp:793] Loading method: forward.\n{make_log([2.0])}"
    assert read_stock_log(debugging).as_result(0).has_debug_log


def test_what_a_real_one_said_agrees_with_the_trace_it_left() -> None:
    log = read_stock_log((DATA / "logs" / "stock_runner.txt").read_text(encoding="utf-8"))
    trace = read_etdump(DATA / "traces" / "stock_runner.etdump")
    assert (log.load_ns, log.threads, log.method_name, log.is_traced) == (868_047, 1, "forward", True)
    assert log.executions == len(log.iterations_ns) == trace.run_count == 5
    assert log.total_ns == pytest.approx(sum(log.iterations_ns), abs=5)
    inside_ns = trace.duration_ns[trace.kind == EventKind.EXECUTE].tolist()
    for iteration_ns, execute_ns in zip(log.iterations_ns, inside_ns, strict=True):
        assert 0.98 * iteration_ns < execute_ns <= iteration_ns


def test_an_older_log_tells_only_the_total() -> None:
    log = read_stock_log(
        "I 00:00:00.1 executorch:executor_runner.cpp:1] Model executed successfully 10 time(s) in 25 ms."
    )
    assert (log.iterations_ns, log.executions, log.total_ns) == ((), 10, 25_000_000)
    assert (log.load_ns, log.threads, log.is_traced) == (None, None, False)
    assert log.as_result(warmup=3).latency_ns == ()


def test_the_oldest_log_tells_no_time_at_all() -> None:
    log = read_stock_log("I 00:00:00.1 executorch:executor_runner.cpp:1] Model executed successfully.")
    assert (log.executions, log.total_ns) == (None, None)


@pytest.mark.parametrize("text", ["", "E executorch:program.cpp:55] Program identifier 'abcd' != expected 'ET12'"])
def test_a_run_that_failed_is_refused_with_its_last_words(text: str) -> None:
    with pytest.raises(TraceError) as caught:
        read_stock_log(text)
    assert (text or "nothing at all") in caught.value.message


def test_a_log_with_holes_is_refused() -> None:
    lines = make_log([1.0, 2.0, 3.0]).splitlines()
    del lines[5]
    with pytest.raises(TraceError, match="shows 2 of 3 iterations"):
        read_stock_log("\n".join(lines))


def test_two_runs_in_one_log_are_refused() -> None:
    with pytest.raises(TraceError, match="shows 4 of 2 iterations"):
        read_stock_log(make_log([1.0, 2.0]) + "\n" + make_log([1.0, 2.0]))
