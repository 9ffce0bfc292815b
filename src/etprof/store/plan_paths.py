"""The paths that a plan and a session name, changed all at once: for a folder that was moved, or another machine."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from etprof.core.plan import Experiment, Plan, Program
from etprof.core.run import Session
from etprof.core.workload import PhaseInput, Workload

Change = Callable[[Path], Path]


def change_session_paths(session: Session, change: Change) -> Session:
    return replace(
        session,
        plan_path=change(session.plan_path) if session.plan_path else None,
        plan=change_plan_paths(session.plan, change),
        programs=tuple(replace(each, program=change_program_paths(each.program, change)) for each in session.programs),
    )


def change_plan_paths(plan: Plan, change: Change) -> Plan:
    return replace(
        plan,
        model=change(plan.model),
        output_root=change(plan.output_root),
        experiments=tuple(_of_experiment(each, change) for each in plan.experiments),
        inputs=tuple(change(path) for path in plan.inputs),
        workload=_of_workload(plan.workload, change),
    )


def change_program_paths(program: Program, change: Change) -> Program:
    return replace(
        program,
        model=change(program.model),
        inputs=tuple(change(path) for path in program.inputs),
        workload=_of_workload(program.workload, change),
    )


def _of_experiment(experiment: Experiment, change: Change) -> Experiment:
    return replace(
        experiment,
        runner_path=change(experiment.runner_path) if experiment.runner_path else None,
        model=change(experiment.model) if experiment.model else None,
        inputs=tuple(change(path) for path in experiment.inputs),
        workload=_of_workload(experiment.workload, change),
    )


def _of_workload(workload: Workload | None, change: Change) -> Workload | None:
    if workload is None:
        return None
    return Workload(tuple(replace(phase, inputs=_of_inputs(phase.inputs, change)) for phase in workload.phases))


def _of_inputs(inputs: tuple[PhaseInput, ...], change: Change) -> tuple[PhaseInput, ...]:
    return tuple(replace(each, file=change(each.file)) if each.file else each for each in inputs)
