"""Executes a skill's contract: what it requires, its steps in order, its outputs, and its checks."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.devices.local import local_platform
from etprof.runner.cpu_features import host_architecture
from etprof.skills.checks import AnyCheck, Outcome, Place, Status, evaluate, fill_in, run_script
from etprof.skills.contract import CommandCheck, FileCheck
from etprof.skills.document import Skill, Step
from etprof.skills.inputs import resolve_inputs

Progress = Callable[[str], None]


def verify(
    skill: Skill, given: Mapping[str, str], workdir: Path, *, run_steps: bool, progress: Progress
) -> list[Outcome]:
    """The outcome of every part of the contract. A part that was not reached is unknown, never a pass.

    Without its steps nothing at all is executed: not what the steps require, and no check that is a command.
    """
    if not workdir.is_dir():
        raise UsageError(f"There is no folder {workdir}.", hint="--workdir is a folder with model_profiling in it.")
    host = f"{local_platform()}-{host_architecture()}"
    contract = skill.contract
    record = _Record(Place(workdir, resolve_inputs(contract, given, host), _environment()), progress)
    for requirement in contract.requires:
        if run_steps or not isinstance(requirement, CommandCheck):
            record.require(requirement)
    for number, step in enumerate(skill.steps if run_steps else (), 1):
        record.run(step, f"step {number} of {len(skill.steps)}")
    for path in contract.outputs:
        record.check("output", FileCheck(kind="file", path=path))
    for check in contract.checks:
        if run_steps or not isinstance(check, CommandCheck):
            record.check("check", check)
        else:
            unknown = "it is a command, and none is executed"
            record.outcomes.append(Outcome("check", check.label, Status.UNKNOWN, unknown))
    return record.outcomes


def judge(outcomes: list[Outcome]) -> Status:
    """One failure fails the whole; without one, anything that could not be determined leaves the whole unknown."""
    found = {outcome.status for outcome in outcomes}
    return next(status for status in (Status.FAIL, Status.UNKNOWN, Status.PASS) if status in found)


@dataclass
class _Record:
    """What was found so far, and why the parts that follow cannot be determined, if something stands in the way."""

    place: Place
    progress: Progress
    outcomes: list[Outcome] = field(default_factory=list)
    obstacle: str = ""

    def require(self, check: AnyCheck) -> None:
        """A missing prerequisite is not a failure of the skill: the result cannot be determined here."""
        outcome = evaluate("requires", check, self.place)
        if outcome.status is not Status.PASS:
            reason = check.reason or outcome.detail
            outcome = replace(outcome, status=Status.UNKNOWN, detail=reason)
            self.obstacle = self.obstacle or f"a prerequisite is missing: {reason}"
        self.outcomes.append(outcome)

    def run(self, step: Step, number: str) -> None:
        if self.obstacle:
            self.outcomes.append(Outcome("step", step.title, Status.UNKNOWN, self.obstacle))
            return
        self.progress(f"{number}: {step.title} (at most {step.timeout_s:g} s)")
        start = time.monotonic()
        ended = run_script(step.script, self.place, step.timeout_s)
        duration_s = time.monotonic() - start
        outcome = Outcome("step", step.title, Status.PASS, duration_s=duration_s)
        if ended.problem:
            is_decided = ended.exit_code not in step.unknown_exits
            status = Status.FAIL if is_decided else Status.UNKNOWN
            outcome = replace(outcome, status=status, detail=ended.problem, tail=ended.tail)
            self.obstacle = f"the step {step.title!r} failed" if is_decided else ""
        self.outcomes.append(outcome)

    def check(self, part: str, check: AnyCheck) -> None:
        if self.obstacle:
            label = fill_in(check, self.place.values).label
            self.outcomes.append(Outcome(part, label, Status.UNKNOWN, self.obstacle))
        else:
            self.outcomes.append(evaluate(part, check, self.place))


def _environment() -> dict[str, str]:
    """The one of this process, with `python` and `etprof` of this installation found first."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([here, os.environ.get("PATH", os.defpath)])}
