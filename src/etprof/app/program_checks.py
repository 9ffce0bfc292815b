"""What a plan asks of its programs, settled before the first block: methods, shapes of inputs, their files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from etprof.app.named_model import require_model
from etprof.app.planned_programs import read_model
from etprof.app.runtimes import find_program, find_pte, refuse_unfit
from etprof.app.workload_checks import settle_workload
from etprof.core.digest import file_sha256
from etprof.core.errors import UsageError
from etprof.core.layout import export_meta_path
from etprof.core.model import ExportMeta, TensorFile
from etprof.core.plan import TRACE, Experiment, Plan, Program
from etprof.core.program import DEFAULT_METHOD, ProgramFile, ProgramMethod, ProgramTensor, fits
from etprof.core.run import ProgramRecord
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.export.meta import load_meta
from etprof.runner.stock import identify_runner

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SettledProgram:
    """A program before it runs: what it takes and gives, and what a reader has to know of its inputs.

    `workload` is what runners read of one; `method` is then that of its first phase. `operators` are those that its
    runner has to have: what is outside of delegates.
    """

    record: ProgramRecord
    method: ProgramMethod
    note: str = ""
    workload: bytes = b""
    operators: tuple[str, ...] = ()


def settle_plan(plan: Plan) -> tuple[SettledProgram, ...]:
    """Each distinct program of a plan; what no block could run is refused."""
    settled = []
    for program in plan.programs:
        experiments = tuple(e for e in plan.experiments if plan.program(e.name) == program)
        require_model(program.model)
        settled.append(SETTLERS[program.runtime](program, experiments))
    return tuple(settled)


def settle_executorch(program: Program, experiments: Sequence[Experiment]) -> SettledProgram:
    return settle_program(program, experiments, load_meta(program.model))


def settle_converted(program: Program, experiments: Sequence[Experiment]) -> SettledProgram:
    """A program of another runtime, which is made from the model of a .pte: what that takes and gives is the same."""
    for experiment in experiments:
        refuse_unfit(experiment, program.runtime)
    if program.workload:
        raise UsageError(
            f"{RUNTIMES[program.runtime].title} runs no workload of etprof, as {experiments[0].name} asks for.",
            hint="Omit `runtime`, or `workload`.",
        )
    program = replace(program, model=find_pte(program.model, program.runtime))
    made = find_program(program.model, program.runtime)
    meta = load_meta(program.model)
    settled = settle_program(program, experiments, meta)
    if meta and settled.record.model_sha256 != meta.pte.sha256:
        raise UsageError(
            f"{program.model} is not the file that {export_meta_path(program.model).name} describes.",
            hint="Export the model again.",
        )
    record = replace(
        settled.record,
        program=replace(settled.record.program, model=made),
        model_sha256=file_sha256(made),
        file_bytes=made.stat().st_size,
    )
    runtime = RUNTIMES[program.runtime]
    note = f"{', '.join(record.experiments)}: {runtime.title}, {runtime.settings}."
    return replace(settled, record=record, note=f"{settled.note} {note}".strip())


# By runtime. What each is given are a program as the plan names it, and the experiments that run it.
SETTLERS: dict[str, Callable[[Program, Sequence[Experiment]], SettledProgram]] = {
    **dict.fromkeys(RUNTIMES, settle_converted),
    EXECUTORCH: settle_executorch,
}


def settle_program(program: Program, experiments: Sequence[Experiment], meta: ExportMeta | None) -> SettledProgram:
    """Refuses what no block could run: a damaged file, a method it does not have, inputs that do not fit."""
    for experiment in experiments:
        _check_named_runner(experiment)
    file = read_model(program.model)
    if program.workload:
        return _settle_workload(program, file, experiments, meta)
    method = _find_method(program, file, experiments)
    inputs, shapes, note = _choose_inputs(program, meta, file, method)
    for path in inputs:
        if not path.is_file():
            raise UsageError(f"There is no input file {path}.", hint="Export the model again.")
    _check_inputs(program, method, inputs, shapes)
    record = ProgramRecord(
        program=replace(program, inputs=inputs, method=method.name, input_shapes=shapes),
        experiments=tuple(experiment.name for experiment in experiments),
        model_sha256=file.sha256,
        inputs_sha256=tuple(file_sha256(path) for path in inputs),
        export_meta=meta,
        state=tuple(tensor.label for tensor in method.state),
        file_bytes=program.model.stat().st_size,
        weight_bytes=file.data_bytes,
        state_bytes=file.state_bytes,
    )
    return SettledProgram(record, method, note, operators=method.operators)


def _find_method(program: Program, file: ProgramFile, experiments: Sequence[Experiment]) -> ProgramMethod:
    known = ", ".join(file.names)
    method = file.find(program.method)
    if method is None and program.method:
        raise UsageError(f"{program.model.name} has no method {program.method!r}.", hint=f"It has {known}.")
    if method is None:
        raise UsageError(
            f"{program.model.name} has {len(file.methods)} methods and none is called {DEFAULT_METHOD}: {known}.",
            hint="Name one as `method` of a plan, or run: etprof profile MODEL.pte --method NAME",
        )
    for experiment in experiments:
        path = experiment.runner_path
        if path and method != file.methods[0] and not identify_runner(path).is_ours:
            raise UsageError(
                f"{experiment.name}: {path} is a stock executor_runner, which runs the program's first method, "
                f"{file.names[0]}, not {method.name}.",
                hint="Omit runner_path: our own runner runs any method.",
            )
    return method


def _settle_workload(
    program: Program, file: ProgramFile, experiments: Sequence[Experiment], meta: ExportMeta | None
) -> SettledProgram:
    for experiment in experiments:
        if experiment.runner_path and not identify_runner(experiment.runner_path).is_ours:
            raise UsageError(
                f"{experiment.name}: {experiment.runner_path} is a stock executor_runner, which runs no workload.",
                hint="Omit runner_path: our own runner can, and is built in seconds.",
            )
    settled = settle_workload(program, file, experiments)
    record = ProgramRecord(
        program=replace(program, method=settled.methods[0].name, workload=settled.workload),
        experiments=tuple(experiment.name for experiment in experiments),
        model_sha256=file.sha256,
        inputs_sha256=(sha256(settled.content).hexdigest(),),
        export_meta=meta,
        state=tuple(tensor.label for tensor in file.list_state(settled.methods)),
        file_bytes=program.model.stat().st_size,
        weight_bytes=file.data_bytes,
        state_bytes=file.state_bytes,
    )
    operators = dict.fromkeys(name for method in settled.methods for name in method.operators)
    return SettledProgram(record, settled.methods[0], workload=settled.content, operators=tuple(operators))


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
    program: Program, meta: ExportMeta | None, file: ProgramFile, method: ProgramMethod
) -> tuple[tuple[Path, ...], Shapes, str]:
    """The plan's own files and shapes, else those of the export, else ones; with a note where it is ones."""
    exported = _exported_inputs(meta, file, method) if meta else ()
    shapes = program.input_shapes or tuple(each.shape for each in exported)
    if program.inputs:
        return program.inputs, shapes, ""
    if exported and shapes == tuple(each.shape for each in exported):
        return tuple(program.model.parent / each.file for each in exported), shapes, ""
    if not method.inputs:
        return (), (), ""
    if meta is None:
        why = f"it has no {export_meta_path(program.model).name}"
    elif exported:
        why = "those of its export have other shapes than the plan asks for"
    else:
        why = f"its export has none for {method.name}"
    return (), shapes, f"{program.model.name}: inputs filled with ones; {why}."


def _exported_inputs(meta: ExportMeta, file: ProgramFile, method: ProgramMethod) -> tuple[TensorFile, ...]:
    if meta.methods:
        return meta.methods[method.name].inputs if method.name in meta.methods else ()
    # An export of one method: what was written beside it is about no other.
    return meta.inputs if method.name == DEFAULT_METHOD or len(file.methods) == 1 else ()


def _check_inputs(program: Program, method: ProgramMethod, inputs: tuple[Path, ...], shapes: Shapes) -> None:
    name = program.model.name
    where = f"{name}, {method.name}" if method.name != DEFAULT_METHOD else name
    for kind, given in (("input files", inputs), ("input shapes", shapes)):
        if given and len(given) != len(method.inputs):
            raise UsageError(
                f"{where} takes {len(method.inputs)} inputs; there are {len(given)} {kind}.", hint=_hint(method.inputs)
            )
    for index, tensor in enumerate(method.inputs):
        if isinstance(tensor, str):
            raise UsageError(
                f"Input {index} of {where} is of type {tensor}; a runner gives tensors only.",
                hint="Fix the value inside the model, or take it as a tensor.",
            )
        shape = shapes[index] if shapes else tensor.shape
        if not fits(shape, tensor):
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


def _hint(inputs: Iterable[ProgramTensor | str]) -> str:
    listed = ", ".join(each if isinstance(each, str) else each.label for each in inputs)
    return f"It takes {listed}." if listed else "It takes no input."
