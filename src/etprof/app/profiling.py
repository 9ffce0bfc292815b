"""A plan on a device from beginning to end: the device is opened, the blocks are run, the device is left clean."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from etprof.app.devices import DeviceRequest, OpenDevice, open_device
from etprof.app.measuring import Observer, run_plan
from etprof.app.plans import PROFILE_RUNS, PROFILE_SCHEDULE, build_kernel_plan, build_profile_plan
from etprof.app.runs import MeasuredRun
from etprof.core.errors import UsageError
from etprof.core.plan import Plan, Schedule
from etprof.devices.base import Device


@dataclass(frozen=True)
class RunOptions:
    """`command` is what the user typed, for the record. `force` moves an older run aside, `resume` goes on with it."""

    command: str
    force: bool = False
    resume: bool = False


def run_on(request: DeviceRequest, plan: Plan, observer: Observer, options: RunOptions) -> MeasuredRun:
    with open_device(replace(request, experiments=plan.experiments)) as opened:
        return run_opened(opened, plan, observer, options)


def run_opened(opened: OpenDevice, plan: Plan, observer: Observer, options: RunOptions) -> MeasuredRun:
    return run_plan(
        plan,
        opened.device,
        observer,
        command=options.command,
        force=options.force,
        resume=options.resume,
        notes=opened.notes,
    )


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
) -> MeasuredRun:
    """Profiles a model with the best extension of the device's CPU hidden and shown."""

    def make_plan(device: Device) -> Plan:
        return build_profile_plan(
            model, device, output_root=output_root, schedule=schedule, runs=runs, threads=threads, kernels=kernels
        )

    return _run_made_plan(model, request, observer, options, make_plan)


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


def _run_made_plan(
    model: Path,
    request: DeviceRequest,
    observer: Observer,
    options: RunOptions,
    make_plan: Callable[[Device], Plan],
) -> MeasuredRun:
    # Before a device is opened, which may take a while and leave something to be cleaned up.
    if not model.is_file():
        raise UsageError(f"There is no model {model}.", hint="Export one first: `etprof export toy_cnn`.")
    with open_device(request) as opened:
        return run_opened(opened, make_plan(opened.device), observer, options)
