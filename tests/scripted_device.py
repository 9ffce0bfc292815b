"""This machine as a device, with the scripted runner in place of a real one."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders import a_device_info, a_plan
from etprof.core.plan import Block, Plan
from etprof.core.run import BlockResult, Job
from etprof.devices.base import runner_flags
from etprof.devices.local import LocalDevice

_RUNNER = Path(__file__).with_name("scripted_runner.py")


def scripted_device(
    latency_ms: Callable[[Job], float] = lambda job: 4.0 if job.block.experiment.hide_isa else 2.0,
) -> LocalDevice:
    def command_for(job: Job) -> list[str]:
        return [sys.executable, str(_RUNNER), *runner_flags(job), "--latency_ms", str(latency_ms(job))]

    return LocalDevice(command_for, a_device_info())


def a_runnable_plan(folder: Path, *, off: str = "well", on: str = "well", **schedule: Any) -> Plan:
    """`a_plan` with a model file to digest, and what each arm's runner is to do."""
    plan = a_plan(folder / "runs" / "linux", **schedule)
    model, inputs = folder / "model.pte", folder / "input_0.bin"
    model.write_bytes(b"model")
    inputs.write_bytes(b"input")
    behaviours = {"off": off, "on": on}
    experiments = tuple(replace(e, extra_args=("--behave", behaviours[e.name])) for e in plan.experiments)
    return replace(plan, model=model, inputs=(inputs,), experiments=experiments)


class Witness:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.retried: list[str] = []
        self.ended: list[BlockResult] = []

    def run_started(self, rounds: int, arms: int, done: int) -> None:
        self.begun_with = (rounds, arms, done)

    def block_started(self, block: Block) -> None:
        self.started.append(f"{block.key}#{block.index}")

    def block_retried(self, block: Block, reason: str) -> None:
        self.retried.append(reason)

    def block_ended(self, result: BlockResult) -> None:
        self.ended.append(result)
