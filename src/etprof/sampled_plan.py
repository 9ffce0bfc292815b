"""Plans whose blocks sample which kernels execute: a comparison of its own, or twins of the arms of another plan."""

from dataclasses import replace
from pathlib import Path

from etprof.core.plan import TIMING, TRACE, Experiment, Plan, Schedule
from etprof.core.run import DeviceInfo
from etprof.runner.isa import best_extension
from etprof.store.layout import run_folder

TWIN_SUFFIX = "_kernels"


def build_kernel_plan(
    model: Path, output_root: Path | None, info: DeviceInfo, platform: str, *, threads: int, blocks: int, seconds: float
) -> Plan:
    """The device's best extension hidden and shown, in trace mode: nothing of it is a latency."""
    extension = best_extension(info.architecture, info.features)
    prefix = f"{platform}_{extension.slug}"
    arm = Experiment(f"{prefix}_on", mode=TRACE, threads=(threads,), extra_args=_sampling_flags(seconds))
    return Plan(
        model=model,
        output_root=output_root or run_folder(model, platform + TWIN_SUFFIX),
        experiments=(replace(arm, name=f"{prefix}_off", hide_isa=extension.hide_isa), arm),
        pairs=(),
        schedule=Schedule(blocks=blocks, max_blocks=blocks),
    )


def add_sampled_arms(plan: Plan) -> Plan:
    """The plan with a sampled twin of every timed experiment that our own runner runs, kept apart from it."""
    twins = tuple(
        replace(e, name=e.name + TWIN_SUFFIX, mode=TRACE)
        for e in plan.experiments
        if e.mode == TIMING and e.runner_path is None
    )
    return replace(plan, experiments=(*plan.experiments, *twins))


def _sampling_flags(seconds: float) -> tuple[str, ...]:
    return ("--sample_ms", str(round(seconds * 1000)))
