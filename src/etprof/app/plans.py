"""Plans: read from a file, made for a model and a device where nobody wrote one, and changed as a user asks."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from etprof.app.advice import refuse_unknown_rules
from etprof.app.thread_counts import suggest_threads
from etprof.core.errors import UsageError
from etprof.core.extensions import best_extension, features_to_hide, groups_among
from etprof.core.layout import run_folder
from etprof.core.plan import TIMING, TRACE, TWIN_SUFFIX, Experiment, Pair, Plan, Schedule, Warmup
from etprof.core.run import DeviceInfo
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.core.units import parse_duration
from etprof.core.workload import Workload
from etprof.devices.base import Device
from etprof.export.meta import load_meta
from etprof.runner.isa import AMBIGUOUS_FEATURES
from etprof.runner.stock import identify_runner
from etprof.store.plan_file import build_plan, load_plan

# The schedule of a profile that nobody wrote a plan for, and of a quick start, which is a first impression.
PROFILE_SCHEDULE = Schedule(blocks=6, max_blocks=24, time_budget_s=120.0)
QUICK_SCHEDULE = Schedule(blocks=6, max_blocks=12, time_budget_s=30.0, retries=0)
PROFILE_RUNS = 20
CHECK_SUFFIX = "_check"
# The two sides of a check of two models.
OLD, NEW = "old", "new"


def read_plan(
    source: Path | Mapping[str, Any] | Plan, *, output_root: Path | None = None, only: tuple[str, ...] = ()
) -> Plan:
    """The plan of a file or of its content, written to another folder or reduced to some of its experiments."""
    if isinstance(source, Plan):
        plan = source
    else:
        plan = load_plan(source) if isinstance(source, Path) else build_plan(source, "the plan")
    refuse_unknown_rules(plan)
    plan = select_experiments(plan, only) if only else plan
    return replace(plan, output_root=output_root or plan.output_root)


def build_profile_schedule(blocks: int, max_blocks: int, budget: str) -> Schedule:
    """The schedule of a profile with what a user changed about it; `budget` is a duration such as 90s or 10m."""
    return replace(
        PROFILE_SCHEDULE, blocks=blocks, max_blocks=max(blocks, max_blocks), time_budget_s=parse_duration(budget)
    )


def build_profile_plan(
    model: Path,
    device: Device,
    *,
    output_root: Path | None = None,
    schedule: Schedule = PROFILE_SCHEDULE,
    runs: int = PROFILE_RUNS,
    threads: tuple[int, ...] = (1,),
    kernels: bool = False,
    label: str = "",
    method: str = "",
    workload: Workload | None = None,
) -> Plan:
    """The comparison to make when nobody asked for one: the best extension of the device's CPU hidden and shown.

    Without thread counts there are those that fit the device. Where times mean nothing, one short block of each variant
    shows what runs. `kernels` adds blocks that sample.
    `label` is that of a model that is not exported yet.
    """
    info = device.describe()
    experiment, schedule = _fit_to_device(runs, threads, info, schedule)
    hidden, shown = _hide_and_show(experiment, info, device.platform)
    plan = Plan(
        model=model,
        output_root=output_root or profile_folder(model, device.platform, label=label),
        experiments=(hidden, shown),
        pairs=(Pair(baseline=hidden.name, candidate=shown.name),),
        schedule=schedule,
        method=method,
        workload=workload,
    )
    return add_sampled_variants(plan) if kernels else plan


def build_check_plan(
    old: Path,
    new: Path,
    device: Device,
    *,
    output_root: Path | None = None,
    schedule: Schedule = PROFILE_SCHEDULE,
    runs: int = PROFILE_RUNS,
    threads: tuple[int, ...] = (1,),
) -> Plan:
    """Two models against each other under the same setting, their blocks interleaved."""
    info = device.describe()
    like, schedule = _fit_to_device(runs, threads, info, schedule)
    return Plan(
        model=new,
        output_root=output_root or profile_folder(new, device.platform, CHECK_SUFFIX),
        experiments=(replace(like, name=OLD, model=old), replace(like, name=NEW, model=new)),
        pairs=(Pair(baseline=OLD, candidate=NEW),),
        schedule=schedule,
    )


def _fit_to_device(
    runs: int, threads: tuple[int, ...], info: DeviceInfo, schedule: Schedule
) -> tuple[Experiment, Schedule]:
    """An experiment without a name; where times mean nothing, one short block of each variant shows what runs."""
    experiment = Experiment("", runs=runs, traced_runs=max(runs // 2, 1), threads=threads or suggest_threads(info))
    if info.times_are_real:
        return experiment, schedule
    return replace(experiment, runs=1, traced_runs=1, warmup=Warmup(0, 0)), replace(schedule, blocks=1, max_blocks=1)


def profile_folder(model: Path, platform: str, suffix: str = "", *, label: str = "") -> Path:
    """Where a run goes that nobody named a folder for: exports of one model in several precisions do not collide."""
    meta = None if label else load_meta(model)
    # A folder of its own is named after the file already.
    label = label or (meta.label if meta else model.stem if model.parent.name == "artifacts" else "")
    return run_folder(model, f"{platform}_{label}{suffix}" if label else f"{platform}{suffix}")


def build_kernel_plan(
    model: Path, device: Device, *, output_root: Path | None, threads: int, blocks: int, seconds: float
) -> Plan:
    """The device's best extension hidden and shown, in trace mode: nothing of it is a latency.

    Where times mean nothing, no inference is made for their sake: sampling alone decides how many there are.
    """
    info = device.describe()
    sampling = ("--sample_ms", str(round(seconds * 1000)))
    experiment = Experiment("", mode=TRACE, threads=(threads,), extra_args=sampling)
    if not info.times_are_real:
        experiment = replace(experiment, traced_runs=1, warmup=Warmup(1, 1))
    return Plan(
        model=model,
        output_root=output_root or profile_folder(model, device.platform, TWIN_SUFFIX),
        experiments=_hide_and_show(experiment, info, device.platform),
        pairs=(),
        schedule=Schedule(blocks=blocks, max_blocks=blocks),
    )


def _hide_and_show(like: Experiment, info: DeviceInfo, platform: str) -> tuple[Experiment, Experiment]:
    extension = best_extension(info.architecture, info.features)
    prefix = f"{platform}_{extension.slug}"
    return replace(like, name=f"{prefix}_off", hide_isa=extension.hide_isa), replace(like, name=f"{prefix}_on")


def refuse_absent_features(plan: Plan, info: DeviceInfo) -> None:
    """Refuses a plan that hides what the device does not have: the variant would be compared with itself.

    Features that the system may not report although they are there are left to the runner, and so is a launcher, which
    may be an emulator of another CPU.
    """
    for experiment in plan.experiments:
        wanted = features_to_hide(info.architecture, experiment.hide_isa)
        if not wanted or experiment.launcher or not info.features or wanted & {*info.features, *AMBIGUOUS_FEATURES}:
            continue
        raise UsageError(
            f"{experiment.name} hides {', '.join(experiment.hide_isa)}, and the CPU of {info.name} has none of it.",
            hint=_describe_fitting_plan(plan.model, info),
        )


def _describe_fitting_plan(model: Path, info: DeviceInfo) -> str:
    present = groups_among(info.architecture, info.features)
    try:
        fitting = best_extension(info.architecture, info.features).hide_isa
    except UsageError as error:
        return error.hint
    return (
        f"It has {', '.join(present)}. `etprof profile {model}` makes the plan that fits this CPU: "
        f"its baseline hides {', '.join(fitting)}."
    )


def add_sampled_variants(plan: Plan) -> Plan:
    """The plan with a sampled twin of every timed experiment that our own runner runs, kept apart from it.

    A runner that `runner_path` names may be ours: the `executor_runner` that `etprof runner build` writes.
    """
    timed = [e for e in plan.experiments if e.mode == TIMING]
    ours = [e for e in timed if plan.program(e.name).runtime == EXECUTORCH]
    able = [e for e in ours if e.runner_path is None or identify_runner(e.runner_path).is_ours]
    if timed and not ours:
        title = RUNTIMES[plan.program(timed[0].name).runtime].title
        raise UsageError(
            f"The kernels of {timed[0].name} cannot be sampled: it runs with {title}.",
            hint="Add an experiment that runs with ExecuTorch, or omit --kernels.",
        )
    if timed and not able:
        raise UsageError(
            f"The kernels of {ours[0].name} cannot be sampled: {ours[0].runner_path} is a stock executor_runner.",
            hint="Omit runner_path: our own runner samples, and is built in seconds.",
        )
    twins = tuple(replace(e, name=e.name + TWIN_SUFFIX, mode=TRACE) for e in able)
    return replace(plan, experiments=(*plan.experiments, *twins))


def select_experiments(plan: Plan, names: tuple[str, ...]) -> Plan:
    """The plan with only the named experiments, and the pairs that are still whole."""
    known = [e.name for e in plan.experiments]
    for name in names:
        if name not in known:
            raise UsageError(f"The plan has no experiment {name!r}.", hint=f"It has {', '.join(known)}.")
    return replace(
        plan,
        experiments=tuple(e for e in plan.experiments if e.name in names),
        pairs=tuple(p for p in plan.pairs if p.baseline in names and p.candidate in names),
    )
