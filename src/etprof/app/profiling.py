"""A plan on a device from beginning to end: the device is opened, the blocks are run, the device is left clean."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from etprof.analysis.graph.work import count_macs
from etprof.app.devices import DeviceRequest, OpenDevice, open_device, refuse_other_runtimes
from etprof.app.emulation import describe_cost
from etprof.app.measuring import Observer, run_plan
from etprof.app.model_graphs import find_graph
from etprof.app.named_model import require_model
from etprof.app.pace import SYSTEM_CLOCK
from etprof.app.peaks import ensure_peaks, find_peaks
from etprof.app.plans import (
    PROFILE_RUNS,
    PROFILE_SCHEDULE,
    build_check_plan,
    build_kernel_plan,
    build_profile_plan,
)
from etprof.app.runs import MeasuredRun
from etprof.app.runtimes import ready_programs
from etprof.core.errors import UsageError
from etprof.core.exploration import Exploration
from etprof.core.plan import Plan, Schedule
from etprof.core.run import Session
from etprof.core.workload import Workload
from etprof.devices.base import Device
from etprof.store.paths import check_path
from etprof.store.peaks_file import save_peaks
from etprof.store.run_folder import has_begun
from etprof.store.run_lock import hold_run_folder, refuse_held
from etprof.store.session_file import load_session


@dataclass(frozen=True)
class RunOptions:
    """`command` is what the user typed, for the record. `force` moves an older run aside, `resume` goes on with it.

    `began_s` is when the run was asked for: opening the device is part of its time budget, waiting for others is not.
    With `peaks` what the CPU can do is measured first, where that is not known. `plan_path` is the plan's file. With
    `exploration` the variants of the plan race.
    """

    command: str
    force: bool = False
    resume: bool = False
    peaks: bool = False
    plan_path: Path | None = None
    exploration: Exploration | None = None
    began_s: float = field(default_factory=SYSTEM_CLOCK.now, compare=False)


def build_run_options(command: str, *, force: bool, resume: bool, plan_path: Path | None = None) -> RunOptions:
    if force and resume:
        raise UsageError("force and resume are mutually exclusive.", hint="force starts over, resume continues.")
    return RunOptions(command, force=force, resume=resume, plan_path=plan_path)


def run_on(request: DeviceRequest, plan: Plan, observer: Observer, options: RunOptions) -> MeasuredRun:
    folder = plan.output_root
    refuse_held(folder)
    with hold_run_folder(folder) if options.resume and check_path(folder).is_dir() else nullcontext():
        # What cannot be read is refused before a runner is built or a device touched.
        older = load_session(folder) if options.resume and has_begun(folder) else None
        experiments = tuple(replace(e, runtime=plan.program(e.name).runtime) for e in plan.experiments)
        request = replace(request, experiments=experiments)
        refuse_other_runtimes(request)
        ready_programs(plan, request.progress)
        with open_device(request) as opened:
            return run_opened(opened, plan, observer, options, older)


def run_opened(
    opened: OpenDevice, plan: Plan, observer: Observer, options: RunOptions, older: Session | None = None
) -> MeasuredRun:
    if not opened.device.describe().times_are_real:
        graphs = [find_graph(each.model, each.method) for each in plan.programs]
        # Of several models, the one that takes the longest.
        macs = [count_macs(graph) if graph else None for graph in graphs]
        observer.told(describe_cost(plan, None if None in macs else max(each or 0 for each in macs)))
    refuse_held(plan.output_root)
    with opened.take_turn() as waited_s:
        device = opened.device
        peaks = ensure_peaks(device, observer.told) if options.peaks else find_peaks(device.describe())
        measured = run_plan(
            plan,
            opened.device,
            observer,
            command=options.command,
            plan_path=options.plan_path,
            force=options.force,
            resume=options.resume,
            older=older,
            notes=opened.notes,
            runner_sha256=opened.runner_sha256,
            prepared=opened.prepared,
            exploration=options.exploration,
            began_s=options.began_s + waited_s,
            is_python=opened.is_python,
        )
        if peaks:
            save_peaks(plan.output_root, peaks)
        return measured


def profile(
    model: Path,
    request: DeviceRequest,
    observer: Observer,
    options: RunOptions,
    *,
    output_root: Path | None = None,
    schedule: Schedule = PROFILE_SCHEDULE,
    runs: int = PROFILE_RUNS,
    threads: tuple[int, ...] = (1,),
    kernels: bool = False,
    method: str = "",
    workload: Workload | None = None,
) -> MeasuredRun:
    """Profiles a model with the best extension of the device's CPU hidden and shown."""

    def make_plan(device: Device) -> Plan:
        return build_profile_plan(
            model, device, output_root=output_root, schedule=schedule, runs=runs, threads=threads, kernels=kernels,
            method=method, workload=workload,
        )  # fmt: skip

    return _run_made_plan(model, request, observer, replace(options, peaks=True), make_plan)


def measure_models(
    old: Path,
    new: Path,
    request: DeviceRequest,
    observer: Observer,
    options: RunOptions,
    *,
    output_root: Path | None = None,
    schedule: Schedule = PROFILE_SCHEDULE,
    runs: int = PROFILE_RUNS,
    threads: tuple[int, ...] = (1,),
) -> MeasuredRun:
    """Measures two models against each other, interleaved."""

    def make_plan(device: Device) -> Plan:
        return build_check_plan(
            old, new, device, output_root=output_root, schedule=schedule, runs=runs, threads=threads
        )

    for model in (old, new):
        require_model(model)
    refuse_same_model(old, new)
    return _run_made_plan(new, request, observer, options, make_plan)


def refuse_same_model(old: Path, new: Path) -> None:
    if old.resolve() == new.resolve():
        raise UsageError(f"{new} was given twice; a model cannot be checked against itself.")


def sample_kernels(
    model: Path,
    request: DeviceRequest,
    observer: Observer,
    options: RunOptions,
    *,
    output_root: Path | None = None,
    threads: int = 1,
    blocks: int = 2,
    seconds: float = 2.0,
) -> MeasuredRun:
    """Samples which kernels execute, with the best extension of the device's CPU hidden and shown."""

    def make_plan(device: Device) -> Plan:
        return build_kernel_plan(
            model, device, output_root=output_root, threads=threads, blocks=blocks, seconds=seconds
        )

    return _run_made_plan(model, request, observer, options, make_plan)


def plan_for(request: DeviceRequest, make_plan: Callable[[Device], Plan]) -> Plan:
    """The plan that would be run on a device, which is opened for it: the plan depends on its CPU."""
    with open_device(request) as opened:
        return make_plan(opened.device)


def _run_made_plan(
    model: Path,
    request: DeviceRequest,
    observer: Observer,
    options: RunOptions,
    make_plan: Callable[[Device], Plan],
) -> MeasuredRun:
    # Before a device is opened, which may take a while and leave something to be cleaned up.
    require_model(model)
    with open_device(request) as opened:
        plan = make_plan(opened.device)
        request.progress(f"results go to {plan.output_root}")
        return run_opened(opened, plan, observer, options)
