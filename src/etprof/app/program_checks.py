"""What a plan asks of a program, settled before the first block: its method, the shapes of its inputs, their files."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.core.layout import export_meta_path
from etprof.core.model import ExportMeta
from etprof.core.plan import TRACE, Experiment, Plan
from etprof.core.program import DEFAULT_METHOD, Program, ProgramMethod, ProgramTensor
from etprof.runner.stock import identify_runner
from etprof.traces.program import read_program

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SettledPlan:
    """The plan with method, inputs and shapes filled in, what the model remembers, and what a reader has to know."""

    plan: Plan
    model_sha256: str
    state: tuple[str, ...]
    notes: tuple[str, ...]


def settle_plan(plan: Plan, meta: ExportMeta | None) -> SettledPlan:
    """Refuses what no block could run: a damaged program, a method it does not have, inputs that do not fit."""
    for experiment in plan.experiments:
        _check_named_runner(experiment)
    program = read_program(plan.model)
    method = _find_method(plan, program)
    inputs, shapes, note = _choose_inputs(plan, meta, program, method)
    for path in inputs:
        if not path.is_file():
            raise UsageError(f"There is no input file {path}.", hint="Export the model again.")
    _check_inputs(plan, method, inputs, shapes)
    settled = replace(plan, inputs=inputs, method=method.name, input_shapes=shapes)
    return SettledPlan(settled, program.sha256, tuple(tensor.label for tensor in method.state), (note,) if note else ())


def _find_method(plan: Plan, program: Program) -> ProgramMethod:
    known = ", ".join(program.names)
    method = program.find(plan.method)
    if method is None and plan.method:
        raise UsageError(f"{plan.model.name} has no method {plan.method!r}.", hint=f"It has {known}.")
    if method is None:
        raise UsageError(
            f"{plan.model.name} has {len(program.methods)} methods and none is called {DEFAULT_METHOD}: {known}.",
            hint="Name one in a plan, as `method`; `etprof profile MODEL --write-plan plan.json` writes a plan.",
        )
    for experiment in plan.experiments:
        path = experiment.runner_path
        if path and method != program.methods[0] and not identify_runner(path).is_ours:
            raise UsageError(
                f"{experiment.name}: {path} is a stock executor_runner, which runs the program's first method, "
                f"{program.names[0]}, not {method.name}.",
                hint="Omit runner_path: our own runner runs any method.",
            )
    return method


def _check_named_runner(experiment: Experiment) -> None:
    """What a runner cannot do is said before the first block, not after the last."""
    if experiment.runner_path is None or identify_runner(experiment.runner_path).is_ours:
        return
    if experiment.hide_isa or experiment.mode == TRACE:
        cannot = f"hide {', '.join(experiment.hide_isa)}" if experiment.hide_isa else "trace without timing"
        raise UsageError(
            f"{experiment.name}: {experiment.runner_path} is a stock executor_runner, which cannot {cannot}.",
            hint="Omit runner_path: our own runner can, and is built in seconds.",
        )


def _choose_inputs(
    plan: Plan, meta: ExportMeta | None, program: Program, method: ProgramMethod
) -> tuple[tuple[Path, ...], Shapes, str]:
    """The plan's own files and shapes, else those of the export, else ones; with a note where it is ones."""
    # An export has one method: what was written beside it is about no other.
    exported = meta.inputs if meta and (method.name == DEFAULT_METHOD or len(program.methods) == 1) else ()
    shapes = plan.input_shapes or tuple(each.shape for each in exported)
    if plan.inputs:
        return plan.inputs, shapes, ""
    if exported and shapes == tuple(each.shape for each in exported):
        return tuple(plan.model.parent / each.file for each in exported), shapes, ""
    if not method.inputs:
        return (), (), ""
    if meta is None:
        why = f"it has no {export_meta_path(plan.model).name}"
    elif exported:
        why = "those of its export have other shapes than the plan asks for"
    else:
        why = f"its export has none for {method.name}"
    return (), shapes, f"{plan.model.name}: inputs filled with ones; {why}."


def _check_inputs(plan: Plan, method: ProgramMethod, inputs: tuple[Path, ...], shapes: Shapes) -> None:
    where = f"{plan.model.name}, {method.name}" if method.name != DEFAULT_METHOD else plan.model.name
    for name, given in (("input files", inputs), ("input shapes", shapes)):
        if given and len(given) != len(method.inputs):
            raise UsageError(
                f"{where} takes {len(method.inputs)} inputs; there are {len(given)} {name}.", hint=_hint(method.inputs)
            )
    for index, tensor in enumerate(method.inputs):
        if isinstance(tensor, str):
            raise UsageError(
                f"Input {index} of {where} is of type {tensor}; a runner gives tensors only.",
                hint="Fix the value inside the model, or take it as a tensor.",
            )
        shape = shapes[index] if shapes else tensor.shape
        if not _fits(shape, tensor):
            raise UsageError(
                f"Input {index} of {where} cannot have the shape {list(shape)}.", hint=_hint(method.inputs)
            )
        size = inputs[index].stat().st_size if inputs else None
        if size is not None and tensor.item_bytes and size != tensor.bytes_of(shape):
            raise UsageError(
                f"{inputs[index]} holds {size} bytes; input {index} of {where} is {tensor.dtype} {list(shape)}, "
                f"which is {tensor.bytes_of(shape)}.",
                hint="Name the shapes of the files in the plan, as `input_shapes`."
                if tensor.is_dynamic
                else "Export the model again, or name other files in the plan, as `inputs`.",
            )


def _fits(shape: tuple[int, ...], tensor: ProgramTensor) -> bool:
    if not tensor.is_dynamic:
        return shape == tensor.shape
    return len(shape) == len(tensor.shape) and all(s <= most for s, most in zip(shape, tensor.shape, strict=True))


def _hint(inputs: Iterable[ProgramTensor | str]) -> str:
    listed = ", ".join(each if isinstance(each, str) else each.label for each in inputs)
    return f"It takes {listed}." if listed else "It takes no input."
