"""This machine as a device, with the scripted runner in place of a real one."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders import a_device_info, a_plan
from etprof.app.measuring import run_plan
from etprof.app.pace import SYSTEM_CLOCK, Clock, TimeLeft
from etprof.app.runs import MeasuredRun
from etprof.core.layout import block_files
from etprof.core.plan import Block, Plan, Variant
from etprof.core.run import BlockResult, Job
from etprof.devices.base import Device, runner_flags
from etprof.devices.local import LocalDevice
from etprof.devices.recorded import RecordedDevice
from program_builder import build_program

_RUNNER = Path(__file__).with_name("scripted_runner.py")


def scripted_device(
    latency_ms: Callable[[Job], float] = lambda job: 4.0 if job.block.experiment.hide_isa else 2.0,
) -> LocalDevice:
    def command_for(job: Job) -> list[str]:
        return [sys.executable, str(_RUNNER), *runner_flags(job), "--latency_ms", str(latency_ms(job))]

    return LocalDevice(command_for, a_device_info())


def a_runnable_plan(folder: Path, *, off: str = "well", on: str = "well", **schedule: Any) -> Plan:
    """`a_plan` with a model file to digest, and what each variant's runner is to do."""
    plan = a_plan(folder / "runs" / "linux", **schedule)
    model, inputs = folder / "model.pte", folder / "input_0.bin"
    model.write_bytes(build_program())
    inputs.write_bytes(b"input")
    behaviours = {"off": off, "on": on}
    experiments = tuple(replace(e, extra_args=("--behave", behaviours[e.name])) for e in plan.experiments)
    return replace(plan, model=model, inputs=(inputs,), experiments=experiments)


def a_job(folder: Path, index: int = 0) -> Job:
    """A block of the variant `on` of `a_runnable_plan`, with its files below `folder`."""
    plan = a_runnable_plan(folder)
    files = block_files(Variant("on", 1), index)
    job = Job(
        block=Block(plan.experiment("on"), 1, index),
        model=plan.model,
        inputs=plan.inputs,
        result=folder / files.result,
        etdump=folder / files.etdump,
        log=folder / files.log,
        outputs=folder / files.outputs,
        timeout_s=30.0,
    )
    job.log.parent.mkdir(parents=True, exist_ok=True)
    return job


def a_recording(folder: Path, on: str = "well") -> RecordedDevice:
    """Two blocks of each variant of `a_runnable_plan`, recorded below `folder`."""
    folder.mkdir(exist_ok=True)
    plan = replace(a_runnable_plan(folder, on=on, blocks=2), output_root=folder / "recording")
    return RecordedDevice(plan.output_root, run_scripted(plan).session)


def with_experiment(job: Job, **changes: Any) -> Job:
    return replace(job, block=replace(job.block, experiment=replace(job.block.experiment, **changes)))


def run_scripted(
    plan: Plan, device: Device | None = None, witness: "Witness | None" = None, *, resume: bool = False,
    clock: Clock = SYSTEM_CLOCK, began_s: float | None = None, **identity: Any,
) -> MeasuredRun:  # fmt: skip
    """Runs a plan on the scripted device, or on another."""
    return run_plan(
        plan, device or scripted_device(), witness or Witness(), command="test", resume=resume, clock=clock,
        began_s=began_s, **identity,
    )  # fmt: skip


def a_steady_run(folder: Path, factor: float = 1.0, *, on: str = "well", blocks: int = 4) -> Path:
    """The folder of a run whose variants take the same time, about four milliseconds times the factor."""
    folder.mkdir()
    plan = a_runnable_plan(folder, on=on, blocks=blocks)
    run_scripted(plan, scripted_device(lambda job: factor * (4.0 + 0.01 * job.block.index)))
    return plan.output_root


def copy_run(plan: Plan, folder: Path) -> Plan:
    """A copy, to be changed, of what `a_runnable_plan` made and of the run in it, where there is one."""
    source = plan.model.parent
    shutil.copytree(source, folder, dirs_exist_ok=True)
    return replace(
        plan,
        model=folder / plan.model.relative_to(source),
        output_root=folder / plan.output_root.relative_to(source),
        inputs=tuple(folder / path.relative_to(source) for path in plan.inputs),
    )


class Witness:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.retried: list[str] = []
        self.ended: list[BlockResult] = []
        self.left: list[TimeLeft | None] = []
        self.heard: list[str] = []

    def run_started(self, plan: Plan, done: int, *, times_are_real: bool) -> None:
        self.begun_with = (plan.schedule.blocks, len(plan.variants), done)

    def block_started(self, block: Block) -> None:
        self.started.append(f"{block.variant.stem}#{block.index}")

    def block_retried(self, block: Block, reason: str) -> None:
        self.retried.append(reason)

    def block_ended(self, result: BlockResult, left: TimeLeft | None = None) -> None:
        self.ended.append(result)
        self.left.append(left)

    def told(self, text: str) -> None:
        self.heard.append(text)

    def variant_left_out(self, text: str, blocks: int) -> None:
        self.heard.append(f"{text} ({blocks})")
