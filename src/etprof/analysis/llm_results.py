"""The tests of a language model out of the phases of a run: tokens a second, with intervals."""

from collections.abc import Iterator, Sequence

from etprof.core.estimates import Interval
from etprof.core.llm import LlmMemory, LlmRecord, LlmResults, LlmRow, LlmTest, parse_test
from etprof.core.phases import PhaseComparison, PhaseResult, PhaseVariant
from etprof.core.plan import TWIN_SUFFIX, Variant
from etprof.core.report import Report
from etprof.core.run import ProgramRecord
from etprof.core.units import NS_PER_MS, NS_PER_S

_MS_PER_S = NS_PER_S / NS_PER_MS


def build_llm_results(report: Report, programs: Sequence[ProgramRecord], *, times_are_real: bool) -> LlmResults | None:
    """None for a run without such tests."""
    phases = report.phases
    if phases is None:
        return None
    timed = {each.variant for each in report.measured}
    tests = ((phase, test) for phase in phases.rows if (test := parse_test(phase.name)))
    rows = tuple(row for phase, test in tests for row in _list_rows(phase, test) if row.variant in timed)
    if not rows:
        return None
    memory = (
        LlmMemory(each.program.model.name, each.file_bytes, each.weight_bytes, each.state_bytes) for each in programs
    )
    return LlmResults(rows, tuple(dict.fromkeys(memory)), phases.confidence, times_are_real)


def _list_rows(phase: PhaseResult, test: LlmTest) -> Iterator[LlmRow]:
    for each in phase.variants:
        compared = next((found for found in phase.comparisons if found.candidate == each.variant), None)
        categories = sorted(each.categories, key=lambda row: -row.mean_ms)
        sampled = each if each.kernels else phase.find(Variant(each.experiment + TWIN_SUFFIX, each.threads))
        kernels = sampled.kernels.verdict if sampled and sampled.kernels else ""
        yield LlmRow(_describe(test, each, compared, kernels), tuple(categories))


def _describe(test: LlmTest, found: PhaseVariant, compared: PhaseComparison | None, kernels: str) -> LlmRecord:
    time, speedup = found.sequence, compared.speedup if compared else None
    rate = time and _invert(time, test.tokens * _MS_PER_S)
    return LlmRecord(
        test=test.name,
        phase=test.phase,
        tokens=test.tokens,
        depth=test.depth,
        experiment=found.experiment,
        threads=found.threads,
        # Of one block there is no interval.
        tokens_per_s=rate.value if rate else test.tokens * _MS_PER_S / found.sequence_ms if found.sequence_ms else None,
        tokens_per_s_low=rate.low if rate else None,
        tokens_per_s_high=rate.high if rate else None,
        time_ms=time.value if time else found.sequence_ms,
        time_low_ms=time.low if time else None,
        time_high_ms=time.high if time else None,
        against=compared.baseline.label if compared else "",
        speedup=speedup.value if speedup else None,
        speedup_low=speedup.low if speedup else None,
        speedup_high=speedup.high if speedup else None,
        verdict=compared.verdict.value if compared else "",
        blocks=found.blocks,
        sequences=found.sequences,
        kernels=kernels,
    )


def _invert(time: Interval, amount: float) -> Interval:
    """A rate: the longer the time, the lower it is."""
    return Interval(amount / time.value, amount / time.high, amount / time.low, time.confidence)
