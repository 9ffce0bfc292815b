"""Small, complete objects for tests; every argument has a sensible default."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from etprof.core.graph import ModelGraph
from etprof.core.loaded_run import LoadedRun, LoadedVariant, Outputs, SampledBlock
from etprof.core.model import Delegation, ExportedFile, ExportMeta, ModelSource, Numerics, Weights
from etprof.core.peaks import Peaks
from etprof.core.plan import Experiment, Pair, Plan, Schedule
from etprof.core.run import BlockResult, DeviceInfo, ProgramRecord, Session
from etprof.core.samples import KernelSamples
from etprof.core.trace import Trace


def a_plan(root: Path = Path("run"), *, blocks: int = 4, **schedule: Any) -> Plan:
    return Plan(
        model=root.parent / "model.pte",
        output_root=root,
        experiments=(
            Experiment("off", hide_isa=("avx512",), runs=5, traced_runs=2),
            Experiment("on", runs=5, traced_runs=2),
        ),
        pairs=(Pair("off", "on"),),
        schedule=replace(Schedule(), **{"blocks": blocks, "max_blocks": blocks, "retries": 0, **schedule}),
    )


def a_device_info(**changes: Any) -> DeviceInfo:
    return replace(DeviceInfo("this machine", "Linux 6", "x86_64", "A CPU", 2, ("avx2", "avx512f")), **changes)


def a_result(experiment: str = "on", index: int = 0, median_ms: float = 2.0, **changes: Any) -> BlockResult:
    """A good block whose five iterations lie around the median."""
    times = tuple(int(median_ms * 1e6 * factor) for factor in (0.98, 0.99, 1.0, 1.01, 1.02))
    result = BlockResult(
        experiment=experiment,
        threads=1,
        index=index,
        runner="native",
        threads_in_force=1,
        load_ns=700_000,
        warmup_ns=(times[2] * 3 // 2, times[2]),
        warmup_steady=True,
        latency_ns=times,
        traced_ns=times,
        peak_bytes=1 << 20,
        etdump=f"{experiment}/{experiment}_t1.etdump",
        log=f"{experiment}/{experiment}_t1.log",
    )
    return replace(result, **changes)


# What is known of each program of a session, not of the session itself.
_OF_PROGRAMS = ("model_sha256", "inputs_sha256", "export_meta", "state", "reference")


def a_session(plan: Plan | None = None, results: tuple[BlockResult, ...] = (), **changes: Any) -> Session:
    """With a record of each program of the plan; `changes` may name what all of the records hold."""
    plan = plan or a_plan()
    known = {"model_sha256": "0" * 64, "inputs_sha256": ("1" * 64,)}
    known |= {name: changes.pop(name) for name in _OF_PROGRAMS if name in changes}
    session = Session(
        plan=plan,
        device=a_device_info(),
        programs=(),
        versions={"etprof": "0.1.0"},
        command="etprof run",
        started_at="2026-01-01T00:00:00+00:00",
        stop_reason="all planned rounds were run",
        results=results,
    )
    return replace(session, **{"programs": records_of(plan, **known), **changes})


def records_of(plan: Plan, **known: Any) -> tuple[ProgramRecord, ...]:
    """A record of each program that the experiments of a plan run."""
    names = {each: tuple(e.name for e in plan.experiments if plan.program(e.name) == each) for each in plan.programs}
    return tuple(ProgramRecord(program, experiments, **known) for program, experiments in names.items())


def with_plan(session: Session, plan: Plan, **changes: Any) -> Session:
    """The session with another plan, whose programs are known as the first one was."""
    known = {name: getattr(session.programs[0], name) for name in _OF_PROGRAMS}
    return replace(session, plan=plan, programs=records_of(plan, **known), **changes)


def with_program(session: Session, **known: Any) -> Session:
    """The session with other facts about all of its programs."""
    return replace(session, programs=tuple(replace(each, **known) for each in session.programs))


def a_loaded_run(
    session: Session | None = None,
    traces: Mapping[str, Sequence[Trace]] | None = None,
    *,
    outputs: Mapping[str, Outputs] | None = None,
    references: Mapping[str, Outputs] | None = None,
    sampled: Mapping[str, Sequence[tuple[KernelSamples, Trace]]] | None = None,
    graph: ModelGraph | None = None,
    peaks: Peaks | None = None,
    folder: Path = Path("run"),
) -> LoadedRun:
    """A run as it is read from its folder; traces, outputs and samples by experiment, all at one thread."""
    session = session or a_session()
    variants = tuple(
        LoadedVariant(
            variant=variant,
            session=session,
            results=session.successful(variant),
            graph=graph,
            traces=tuple((traces or {}).get(variant.experiment, ())),
            sampled=tuple(SampledBlock(*block) for block in (sampled or {}).get(variant.experiment, ())),
            outputs=(outputs or {}).get(variant.experiment),
            reference=(references or {}).get(variant.experiment),
            peaks=peaks,
        )
        for variant in session.plan.variants
    )
    return LoadedRun(folder, (session,), variants)


def an_export_meta(**changes: Any) -> ExportMeta:
    meta = ExportMeta(
        model="toy_cnn",
        backend="xnnpack",
        dtype="fp32",
        precision="fp32",
        seed=0,
        etprof_version="0.1.0",
        created_at="2026-01-01T00:00:00+00:00",
        model_source=ModelSource("models folder", "models/toy_cnn", "2" * 64),
        versions={"torch": "2.13.0"},
        weights=Weights(source="random", seed=0, sha256="3" * 64),
        inputs=(),
        outputs=(),
        pte=ExportedFile("toy_cnn.pte", 1, "4" * 64),
        etrecord=ExportedFile("toy_cnn.pte.etrecord", 1, "5" * 64),
        delegation=Delegation(1, 1, 0, 1.0, {}, ()),
        numerics=Numerics("eager", 50.0, 100.0, ()),
    )
    return replace(meta, **changes)


def paired_results(off_ms: list[float], on_ms: list[float]) -> tuple[BlockResult, ...]:
    """Blocks of the two variants of `a_plan`, with these medians."""
    pairs = zip(off_ms, on_ms, strict=True)
    return tuple(a_result(n, i, m) for i, (off, on) in enumerate(pairs) for n, m in (("off", off), ("on", on)))
