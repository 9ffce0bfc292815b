"""Reads the folder of a run, each file once, into the object that every analysis starts from."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from etprof.app.companions import describe_runs, find_companions
from etprof.app.model_graphs import find_graph
from etprof.app.peaks import find_peaks
from etprof.app.planned_programs import find_memory_plan
from etprof.core.errors import EtprofError, TraceError
from etprof.core.graph import ModelGraph
from etprof.core.loaded_run import LoadedRun, LoadedVariant, Outputs, SampledBlock
from etprof.core.memory import ActivationPlan
from etprof.core.plan import Variant
from etprof.core.run import BlockResult, ProgramRecord, Session
from etprof.core.runtimes import EXECUTORCH
from etprof.core.sequences import mark_phases
from etprof.core.trace import Trace
from etprof.core.workload import Workload
from etprof.store.peaks_file import load_peaks
from etprof.store.session_file import load_session
from etprof.store.validate import find_problems
from etprof.traces.kernel_samples import read_kernel_samples
from etprof.traces.runner_result import Values, read_output_values
from etprof.traces.steps_file import read_steps
from etprof.traces.trace_file import read_trace

_READERS = 2


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A session that was just measured, with the traces that were read meanwhile, by their names in the folder."""

    session: Session
    traces: dict[str, Trace] = field(default_factory=dict)


def load_run(folder: Path) -> LoadedRun:
    """A finished or interrupted run, from its files alone."""
    return build_run(folder, load_session(folder))


def load_partial_run(folder: Path) -> LoadedRun:
    """A run of which only manifest and metrics may have been kept: traces and outputs where all of their files are."""
    return _join(folder, load_session(folder), {}, must_exist=False)


def build_run(folder: Path, session: Session, traces: Mapping[str, Trace] | None = None) -> LoadedRun:
    """The run of a session that was loaded or just measured; `traces` are those that were read already, by name.

    Earlier runs in its folder are a part of it, where they measured the same model for something else.
    """
    if not any(result.is_ok for result in session.results):
        raise EtprofError(f"{folder} holds no successful block.", hint="Read the logs, then run the plan again.")
    return _join(folder, session, traces or {}, must_exist=True)


def _join(folder: Path, newest: Session, known: Mapping[str, Trace], *, must_exist: bool) -> LoadedRun:
    companions, notes = find_companions(folder, newest)
    variants = [
        variant
        for stored in companions
        for variant in _load_variants(stored.folder, stored.session, {}, must_exist=must_exist)
    ]
    variants += _load_variants(folder, newest, known, must_exist=must_exist)
    return LoadedRun(folder, (*(stored.session for stored in companions), newest), tuple(variants), notes)


def _load_variants(
    folder: Path, session: Session, known: Mapping[str, Trace], *, must_exist: bool
) -> list[LoadedVariant]:
    names = [name for r in session.results if r.is_ok for name in (r.etdump, r.samples) if name]
    is_whole = must_exist or all((folder / name).is_file() for name in names)
    traces = _read_traces(folder, session, known) if is_whole else {}
    # What was measured later on this machine is about the same CPU.
    peaks = load_peaks(folder) or find_peaks(session.device)
    # Variants that computed the same share the files of their outputs.
    read: dict[tuple[str, str], Values] = {}
    of = {
        name: _load_program(folder, record, read, must_exist=must_exist)
        for record in session.programs
        for name in record.experiments
    }
    return [
        replace(
            _load_variant(folder, session, variant, traces, read=read, must_exist=must_exist),
            graph=of[variant.experiment].graph,
            reference=of[variant.experiment].reference,
            plan=of[variant.experiment].plan,
            peaks=peaks,
        )
        for variant in session.plan.variants
    ]


class _LoadedProgram(NamedTuple):
    """What all variants of a program have in common."""

    graph: ModelGraph | None
    reference: Outputs | None
    plan: ActivationPlan | None


def _load_program(
    folder: Path, record: ProgramRecord, read: dict[tuple[str, str], Values], *, must_exist: bool
) -> _LoadedProgram:
    program = record.program
    graph = find_graph(program.model, program.method, record.model_sha256) if program.runtime == EXECUTORCH else None
    is_there = all((folder / each.file).is_file() for each in record.reference if each.file)
    known = record.reference and (must_exist or is_there)
    reference = read_output_values(folder, record.reference, read) if known else None
    return _LoadedProgram(graph, reference, find_memory_plan(record) if program.runtime == EXECUTORCH else None)


def validate_run(folder: Path, *, deep: bool, with_failures: bool = True) -> list[str]:
    """One sentence for each problem; none for a good run. Without failures only what is wrong with the files counts."""
    return find_problems(folder, read_trace if deep else None, with_failures=with_failures)


def list_runs(folder: Path) -> list[str]:
    """A line for each run in a folder that holds several; none for a folder of one."""
    return describe_runs(folder)


def _read_traces(folder: Path, session: Session, known: Mapping[str, Trace]) -> dict[str, Trace]:
    """Every trace of a successful block, by its name; several at a time, since reading is mostly array work."""
    names = [r.etdump for r in session.results if r.is_ok and r.etdump and r.etdump not in known]
    with ThreadPoolExecutor(_READERS) as readers:
        read = readers.map(lambda name: read_trace(folder / name), names)
        return {**known, **dict(zip(names, read, strict=True))}


def _load_variant(
    folder: Path,
    session: Session,
    variant: Variant,
    known: Mapping[str, Trace],
    *,
    read: dict[tuple[str, str], Values],
    must_exist: bool,
) -> LoadedVariant:
    results = session.successful(variant)
    workload = session.program(variant).program.workload
    traced = [(r, mark_phases(known[r.etdump], workload)) for r in results if r.etdump in known]
    timed = [r for r in results if r.steps and (must_exist or (folder / r.steps).is_file())]
    return LoadedVariant(
        variant=variant,
        session=session,
        results=results,
        traces=tuple(trace for _, trace in traced),
        sampled=tuple(
            SampledBlock(read_kernel_samples(folder / result.samples), trace)
            for result, trace in traced
            if result.samples
        ),
        outputs=_read_outputs(folder, results, read, must_exist=must_exist),
        steps={result.index: _read_step_times(folder, result, workload) for result in timed if workload},
    )


def _read_step_times(folder: Path, result: BlockResult, workload: Workload) -> NDArray[np.int64]:
    times = read_steps(folder / result.steps)
    sequences, steps = len(result.latency_ns), workload.step_count
    if times.shape != (sequences, steps):
        has = f"{times.shape[0]} sequences of {times.shape[1]} steps"
        raise TraceError(
            f"{folder / result.steps} has {has}; {result.name} has {sequences} of {steps}.",
            hint="The file belongs to another run. Run the plan again.",
        )
    return times


def _read_outputs(
    folder: Path, results: tuple[BlockResult, ...], read: dict[tuple[str, str], Values], *, must_exist: bool
) -> Outputs | None:
    # A stock runner does not report its outputs: they are unknown, not none.
    first = next((r for r in results if not r.is_stock), None)
    if first is None or (not must_exist and not all((folder / o.file).is_file() for o in first.outputs if o.file)):
        return None
    return read_output_values(folder, first.outputs, read)
