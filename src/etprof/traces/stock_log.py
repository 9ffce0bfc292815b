"""Reads what a stock executor_runner prints; what it does not print stays unknown."""

import re
from dataclasses import dataclass

from etprof.core.errors import TraceError
from etprof.core.run import STOCK_RUNNER, RunnerResult
from etprof.core.units import NS_PER_MS

_NUMBER = r"(\d+(?:\.\d+)?)"
_ITERATION = re.compile(rf"\bIteration (\d+) of (\d+): {_NUMBER} ms\b")
_EXECUTED = re.compile(rf"\bModel executed successfully(?: (\d+) time\(s\))?(?: in {_NUMBER} ms)?")
_LOADED = re.compile(rf"\bModel loaded in {_NUMBER} ms\b")
_THREADS = re.compile(r"\bResetting threadpool with num threads = (\d+)\b")
_METHOD = re.compile(r"\bUsing method (\S+)")
# The level, the time since the start, and the place in the code.
_DEBUG = re.compile(r"^D \d\d:\d\d:\d\d\.\d+ executorch:", re.MULTILINE)
_ETDUMP = re.compile(r"\bETDump written to file\b")


@dataclass(frozen=True)
class StockLog:
    """One run of a stock runner. None, or an empty tuple, is what its log does not say."""

    iterations_ns: tuple[int, ...]
    executions: int | None
    total_ns: int | None
    load_ns: int | None
    threads: int | None
    method_name: str
    is_traced: bool
    has_debug_log: bool = False

    def as_result(self, warmup: int) -> RunnerResult:
        """What this runner knows of its block, its first iterations taken as the warm-up they were."""
        return RunnerResult(
            runner=STOCK_RUNNER,
            method_name=self.method_name,
            threads_in_force=self.threads,
            load_ns=self.load_ns,
            warmup_ns=self.iterations_ns[:warmup],
            latency_ns=self.iterations_ns[warmup:],
            # Its tracer, where it was built with one, is on throughout.
            latency_is_traced=self.is_traced,
            has_debug_log=self.has_debug_log,
        )


def read_stock_log(text: str) -> StockLog:
    """Takes the log of a run that succeeded; a log that does not say so is refused with its last lines."""
    executed = _EXECUTED.search(text)
    if not executed:
        last = " / ".join(line.strip() for line in text.strip().splitlines()[-3:]) or "nothing at all"
        raise TraceError(
            f"The runner's log does not say that the model was executed. It ends: {last}",
            hint="Run the runner by hand with the same flags; the log's first lines show the command.",
        )
    iterations = _ITERATION.findall(text)
    _check_iterations([(int(i), int(n)) for i, n, _ in iterations])
    loaded, threads, method = (pattern.search(text) for pattern in (_LOADED, _THREADS, _METHOD))
    return StockLog(
        iterations_ns=tuple(_to_ns(ms) for _, _, ms in iterations),
        executions=int(executed.group(1)) if executed.group(1) else len(iterations) or None,
        total_ns=_to_ns(executed.group(2)) if executed.group(2) else None,
        load_ns=_to_ns(loaded.group(1)) if loaded else None,
        threads=int(threads.group(1)) if threads else None,
        method_name=method.group(1) if method else "",
        is_traced=bool(_ETDUMP.search(text)),
        has_debug_log=bool(_DEBUG.search(text)),
    )


def _check_iterations(numbers: list[tuple[int, int]]) -> None:
    """A log with holes would pass off some of the runs as all of them."""
    if numbers and [i for i, _ in numbers] != list(range(1, numbers[0][1] + 1)):
        raise TraceError(
            f"The runner's log shows {len(numbers)} of {numbers[0][1]} iterations.",
            hint="The log is cut or holds several runs. Run again into an empty folder.",
        )


def _to_ns(milliseconds: str) -> int:
    return round(float(milliseconds) * NS_PER_MS)
