"""Latency from single traces: how long each whole inference took, with the tracer running."""

from dataclasses import asdict
from pathlib import Path

from etprof.analysis.run_pairs import compare_variants
from etprof.analysis.timing.latency import list_samples, summarize_latency
from etprof.app.traces import TraceSet
from etprof.core.errors import UsageError
from etprof.core.layout import ALL_RUNS_SUFFIX, ROBUST_STATS_SUFFIX
from etprof.core.plan import Schedule
from etprof.core.report import Comparison, LatencySummary, VariantReport
from etprof.core.run import BlockResult
from etprof.core.trace import EventKind, Trace
from etprof.store.json_file import write_json


def summarize_traced(given: TraceSet) -> LatencySummary:
    """Statistics over the steady inferences; every trace is a process and counts as a block."""
    summary = summarize_latency(_list_blocks(given))
    if summary is None:
        raise UsageError(f"{given.origin} holds no whole inference.", hint="Record at least one.")
    return summary


def compare_traced(baseline: TraceSet, candidate: TraceSet) -> Comparison:
    return compare_variants(_as_variant(baseline), _as_variant(candidate), Schedule())


def write_traced_statistics(folder: Path, given: TraceSet) -> Path:
    """Not under the name that a run gives the statistics of its untraced iterations."""
    path = folder / f"{given.stem}{Path(ALL_RUNS_SUFFIX).stem}{ROBUST_STATS_SUFFIX}"
    samples = list_samples(_list_blocks(given))
    content = {"schema_version": 1, **asdict(summarize_traced(given)), "samples_by_block": samples}
    write_json(path, content)
    return path


def _list_blocks(given: TraceSet) -> list[BlockResult]:
    return [_as_block(given.stem, index, trace) for index, trace in enumerate(given.traces)]


def _as_block(name: str, index: int, trace: Trace) -> BlockResult:
    whole_ns = trace.duration_ns[trace.kind == EventKind.EXECUTE]
    return BlockResult(
        experiment=name,
        threads=1,
        index=index,
        warmup_ns=tuple(whole_ns[~trace.is_steady].tolist()),
        latency_ns=tuple(whole_ns[trace.is_steady].tolist()),
        latency_is_traced=True,
    )


def _as_variant(given: TraceSet) -> VariantReport:
    return VariantReport(
        experiment=given.stem,
        threads=1,
        features_hidden=(),
        latency=summarize_traced(given),
        accounting=given.accounting,
        categories=given.categories,
        operators=(),
        unmatched_names=(),
        peak_bytes=None,
        runner="",
    )
