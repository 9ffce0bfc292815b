"""Runs of workloads for tests: steps and traces whose times are known, analysed by the real analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders import a_loaded_run, a_plan, a_result, a_session
from etprof.analysis.report import build_report
from etprof.core.loaded_run import LoadedRun, LoadedVariant, SampledBlock
from etprof.core.report import Report
from etprof.core.sequences import mark_phases
from etprof.core.trace import Trace
from etprof.core.workload import RANDOM, Phase, PhaseInput, Workload
from sample_builder import MOPA, PLAIN, SEEN, samples
from trace_builder import Operators, an_inference, read_inferences

GEMM, SOFTMAX, GATHER = "Fully Connected (NC, F32) GEMM #1", "Softmax (NC, F32) #1", "native_call_index.Tensor_out"
GAP_NS = 5_000


def a_workload(*repeats: int) -> Workload:
    """A prompt of 32 tokens and 16 further ones; with `repeats`, phases of so many steps each."""
    ids = PhaseInput(RANDOM, high=99, shape=(1, 32), dtype="int64")
    token = replace(ids, shape=(1, 1))
    if repeats:
        return Workload(tuple(Phase(f"phase {n}", "forward", (token,), count) for n, count in enumerate(repeats)))
    return Workload(
        (Phase("prefill", "forward", (ids,), resets=True, advance=32), Phase("decode", "forward", (token,), 16))
    )


def step_times(
    workload: Workload, phase_ms: Sequence[float], *, growth: float = 0.0, sequences: int = 5, noise: float = 0.002,
    seed: int = 0,
) -> NDArray[np.int64]:  # fmt: skip
    """Steps of each phase around its time; `growth` is by how much the last step of each takes longer than the first.

    A block as a whole is a little faster or slower than others, as in life.
    """
    rng = np.random.default_rng(seed)
    parts = [
        ms * 1e6 * (1 + growth * np.arange(phase.repeats) / max(phase.repeats - 1, 1))
        for phase, ms in zip(workload.phases, phase_ms, strict=True)
    ]
    spread = np.exp(rng.normal(0, noise, (sequences, workload.step_count)) + rng.normal(0, noise))
    times: NDArray[np.int64] = np.round(np.concatenate(parts) * spread).astype(np.int64)
    return times


def a_workload_trace(
    folder: Path, workload: Workload, gemm_us: Sequence[int], *, sequences: int = 3, start_us: int = 0
) -> Trace:
    """The traced steps of so many sequences: a GEMM of known length in each phase, the first sequence slower."""
    inferences, at = [], start_us
    order = [workload.phase_of(step) for step in workload.traced_steps.tolist()]
    for sequence in range(sequences):
        for phase in order:
            us = gemm_us[phase] * (2 if not sequence else 1)
            call: Operators = [(GEMM, us), (SOFTMAX, 20)]
            inferences.append(an_inference(call, start_us=at, portable=[(GATHER, 10)]))
            at += us + 100
    return mark_phases(read_inferences(folder, *inferences), workload)


def a_workload_run(
    folder: Path,
    workload: Workload | None = None,
    times_ms: Mapping[str, Sequence[float]] | None = None,
    *,
    blocks: int = 6,
    growth: Mapping[str, float] | None = None,
    with_traces: bool = True,
    sequences: int = 5,
    noise: float = 0.002,
    seed: int = 0,
    **session: Any,
) -> LoadedRun:
    """Two variants of a workload; `times_ms` has the time of a step in each phase, `growth` that of the steps."""
    workload = workload or a_workload()
    times_ms = times_ms or {"off": (8.0, 1.0), "on": (2.0, 0.9)}
    plan = replace(a_plan(blocks=blocks), workload=workload)
    steps: dict[str, dict[int, NDArray[np.int64]]] = {name: {} for name in times_ms}
    results = []
    for index in range(blocks):
        for number, (name, own) in enumerate(times_ms.items()):
            block = step_times(
                workload,
                own,
                growth=(growth or {}).get(name, 0.0),
                sequences=sequences,
                noise=noise,
                seed=seed + 2 * index + number,
            )
            steps[name][index] = block
            whole = (block.sum(axis=1) + GAP_NS * workload.step_count).tolist()
            results.append(a_result(name, index, latency_ns=tuple(whole), traced_ns=tuple(whole[:3])))
    run = a_loaded_run(a_session(plan, tuple(results), **session))
    gemm_us = {name: [round(ms * 800) for ms in own] for name, own in times_ms.items()}
    variants = tuple(
        replace(
            each,
            steps=steps[each.variant.experiment],
            traces=(a_workload_trace(folder, workload, gemm_us[each.variant.experiment]),) if with_traces else (),
        )
        for each in run.variants
    )
    return replace(run, variants=variants)


def with_samples(run: LoadedRun) -> LoadedRun:
    """The same, with kernels sampled: SME where nothing is hidden, in the first phase only."""
    return replace(run, variants=tuple(_add_samples(each) for each in run.variants))


def _add_samples(loaded: LoadedVariant) -> LoadedVariant:
    is_shown = loaded.variant.experiment == "on"
    hidden = () if is_shown else ("sme2",)
    return replace(
        loaded,
        results=tuple(replace(result, features_seen=SEEN, features_hidden=hidden) for result in loaded.results),
        sampled=tuple(_sample(trace, is_shown=is_shown) for trace in loaded.traces),
    )


def _sample(trace: Trace, *, is_shown: bool) -> SampledBlock:
    assert trace.phase is not None
    taken = []
    for row in np.flatnonzero(trace.is_operator).tolist():
        if trace.names[trace.name[row]] == GEMM:
            place = MOPA if is_shown and trace.phase[trace.run[row]] == 0 else PLAIN
            taken += [(int(trace.start_ns[row]) + 2000 * number, place) for number in range(1, 30)]
    return SampledBlock(samples(taken), trace)


def a_phase_report(folder: Path, **changes: Any) -> Report:
    return analyze(a_workload_run(folder, **changes))


def analyze(run: LoadedRun) -> Report:
    return build_report(run, title="A report", created_at="2026-01-02T00:00:00+00:00")
