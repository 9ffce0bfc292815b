"""A runner that was built for debugging."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule


def _find(facts: Facts) -> Iterator[Match]:
    if any(result.has_debug_log for result in facts.background.results):
        yield Match(
            title="Build the runner for release",
            reason="The runner's log has messages of level Debug, which only a debug build of ExecuTorch has by "
            "default. Its kernels may be without optimisation as well.",
            extra_ms=facts.whole_ms,
        )


RULE = Rule(
    id="debug-runner",
    title="A runner built for debugging",
    looks_at="messages of level Debug in the log of a stock runner",
    bound="the whole inference: nothing that a debug build measures holds for a release build",
    advice="Build it with CMAKE_BUILD_TYPE=Release, or omit runner_path: etprof's own runner is a release build.",
    snippet="""\
# cmake -B cmake-out -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_XNNPACK=ON .
# cmake --build cmake-out --target executor_runner""",
    needs_run=True,
    find=_find,
)
