"""The paths that a plan and a session name, changed all at once: for a folder that was moved, or another machine."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from etprof.core.plan import Experiment, Plan, Program
from etprof.core.run import Session

Change = Callable[[Path], Path]


def change_session_paths(session: Session, change: Change) -> Session:
    return replace(
        session,
        plan_path=change(session.plan_path) if session.plan_path else None,
        plan=change_plan_paths(session.plan, change),
        programs=tuple(replace(each, program=_of_program(each.program, change)) for each in session.programs),
    )


def change_plan_paths(plan: Plan, change: Change) -> Plan:
    return replace(
        plan,
        model=change(plan.model),
        output_root=change(plan.output_root),
        experiments=tuple(_of_experiment(each, change) for each in plan.experiments),
        inputs=tuple(change(path) for path in plan.inputs),
    )


def _of_program(program: Program, change: Change) -> Program:
    return replace(program, model=change(program.model), inputs=tuple(change(path) for path in program.inputs))


def _of_experiment(experiment: Experiment, change: Change) -> Experiment:
    return replace(
        experiment,
        runner_path=change(experiment.runner_path) if experiment.runner_path else None,
        model=change(experiment.model) if experiment.model else None,
        inputs=tuple(change(path) for path in experiment.inputs),
    )
