"""A workload against its program, before the first block: methods, shapes, values and positions of every step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from etprof.app.workload_data import build_data, find_unfit_value
from etprof.core.errors import UsageError
from etprof.core.plan import TIMING, Experiment, Program
from etprof.core.program import DEFAULT_METHOD, ProgramFile, ProgramMethod, ProgramTensor, fits
from etprof.core.workload import ARANGE, FILE, MOST_STEP_TIMES, Phase, PhaseInput, Workload
from etprof.runner.planned_workload import PlannedPhase, PlannedWorkload, render_workload

# Methods by which a program says how many positions its state has room for, the decisive one first.
_ROOM = ("get_max_context_len", "get_max_seq_len", "get_max_position")


@dataclass(frozen=True)
class SettledWorkload:
    """With nothing left open; `content` is what runners read."""

    workload: Workload
    methods: tuple[ProgramMethod, ...]
    content: bytes


def settle_workload(program: Program, file: ProgramFile, experiments: Sequence[Experiment]) -> SettledWorkload:
    """Refuses what no runner could do, with the number of the step."""
    asked = program.workload
    if asked is None:
        raise ValueError("the program has no workload")
    found = [_find_method(program, file, asked, number) for number in range(len(asked.phases))]
    pairs = zip(asked.phases, found, strict=True)
    workload = Workload(tuple(_settle_phase(phase, method, asked) for phase, method in pairs))
    methods = tuple(dict.fromkeys(found))
    _check_positions(workload, file, found)
    _check_counts(workload, experiments)
    return SettledWorkload(workload, methods, _render(workload, file, methods))


def _find_method(program: Program, file: ProgramFile, workload: Workload, number: int) -> ProgramMethod:
    wanted = workload.phases[number].method or program.method
    method = file.find(wanted)
    known = ", ".join(each.name for each in file.computing) or ", ".join(file.names)
    step = workload.describe_step(workload.bounds[number][0])
    if method is None and wanted:
        raise UsageError(f"{program.model.name} has no method {wanted!r}, which {step} names.", hint=f"It has {known}.")
    if method is None:
        raise UsageError(
            f"{program.model.name} has several methods, none is called {DEFAULT_METHOD}, and {step} names none.",
            hint=f"Name one as `method` of the phase: {known}.",
        )
    if not method.name.isprintable():
        raise UsageError(f"The method {method.name!r} has a name that runners cannot be given.")
    return method


def _settle_phase(phase: Phase, method: ProgramMethod, workload: Workload) -> Phase:
    """The phase with method, shapes, types and advance filled in."""
    number = workload.phases.index(phase)
    step = workload.describe_step(workload.bounds[number][0])
    takes = ", ".join(each if isinstance(each, str) else each.label for each in method.inputs) or "no input"
    if len(phase.inputs) != len(method.inputs):
        raise UsageError(
            f"{_first(step)} has {len(phase.inputs)} inputs; {method.name} takes {len(method.inputs)}.",
            hint=f"It takes {takes}.",
        )
    inputs = tuple(
        _settle_input(given, tensor, f"input {index} of {step}", takes)
        for index, (given, tensor) in enumerate(zip(phase.inputs, method.inputs, strict=True))
    )
    settled = replace(phase, method=method.name, inputs=inputs)
    return replace(settled, advance=settled.stride)


def _settle_input(given: PhaseInput, tensor: ProgramTensor | str, where: str, takes: str) -> PhaseInput:
    if isinstance(tensor, str):
        raise UsageError(
            f"{_first(where)} is of type {tensor}; a runner gives tensors only.",
            hint="Fix the value inside the model, or take it as a tensor.",
        )
    shape = tensor.shape if given.shape is None else given.shape
    if not fits(shape, tensor):
        raise UsageError(f"{_first(where)} cannot have the shape {list(shape)}.", hint=f"The method takes {takes}.")
    if given.dtype and given.dtype != tensor.dtype:
        raise UsageError(
            f"{_first(where)} cannot be of type {given.dtype}: the method takes {tensor.label}.",
            hint="Omit dtype: it is that of the program.",
        )
    settled = replace(given, shape=shape, dtype=tensor.dtype)
    if settled.fill == FILE and settled.file:
        _check_file(settled.file, tensor.bytes_of(shape), where)
    elif problem := find_unfit_value(settled):
        raise UsageError(f"{_first(where)}: {problem}.", hint=f"The method takes {takes}.")
    return settled


def _check_file(path: Path, needed: int, where: str) -> None:
    if not path.is_file():
        raise UsageError(f"There is no file {path}, which {where} names.", hint="Paths are from the current directory.")
    size = path.stat().st_size
    if size < needed or (needed and size % needed):
        raise UsageError(
            f"{path} holds {size} bytes; {where} takes {needed}.",
            hint="The file holds the bytes of one step, or of several steps one after the other.",
        )


def _check_positions(workload: Workload, file: ProgramFile, methods: Sequence[ProgramMethod]) -> None:
    """A step that writes beyond its cache would spoil memory, or end the runner."""
    for number, (phase, method) in enumerate(zip(workload.phases, methods, strict=True)):
        room, reason = _find_room(file, method)
        needs = max((each.elements for each in phase.inputs if each.fill == ARANGE), default=None)
        if room is None or needs is None:
            continue
        reach = max(needs, phase.stride)
        first, end = workload.bounds[number]
        beyond = workload.positions[first:end] + reach > room
        if beyond.any():
            step = first + int(beyond.argmax())
            last = int(workload.positions[step]) + reach - 1
            raise UsageError(
                f"{_first(workload.describe_step(step))} reaches position {last}; {reason}.",
                hint="Make the phases shorter, or reset the state before one of them (`resets`).",
            )


def _find_room(file: ProgramFile, method: ProgramMethod) -> tuple[int | None, str]:
    """How many positions there are, and how that is known. Without a word of the program, no buffer has more."""
    for name in _ROOM:
        room = file.facts.get(name)
        if room is not None and room > 0:
            return int(room), f"the program has room for {int(room)} ({name})"
    largest = max(chain.from_iterable(tensor.shape for tensor in method.state), default=0)
    return (largest or None), f"none of its buffers has room for more than {largest}"


def _check_counts(workload: Workload, experiments: Sequence[Experiment]) -> None:
    for experiment in experiments:
        times = experiment.runs * workload.step_count
        if experiment.mode == TIMING and times > MOST_STEP_TIMES:
            raise UsageError(
                f"{experiment.name}: {experiment.runs} sequences of {workload.step_count} steps are {times} times to "
                f"keep; a block keeps at most {MOST_STEP_TIMES}.",
                hint="Ask for fewer runs: each is a whole sequence.",
            )


def _render(workload: Workload, file: ProgramFile, methods: Sequence[ProgramMethod]) -> bytes:
    inputs, data = build_data(workload)
    phases = tuple(
        PlannedPhase(phase.name, phase.method, placed, phase.repeats, phase.resets, _list_traced(workload, number))
        for number, (phase, placed) in enumerate(zip(workload.phases, inputs, strict=True))
    )
    has_state = any(method.state for method in methods)
    return render_workload(PlannedWorkload(phases, data, has_state, file.shared_arenas))


def _list_traced(workload: Workload, number: int) -> tuple[int, ...]:
    first, end = workload.bounds[number]
    traced = workload.traced_steps
    return tuple((traced[(traced >= first) & (traced < end)] - first).tolist())


def _first(text: str) -> str:
    """With a capital letter, as a sentence begins."""
    return text[:1].upper() + text[1:]
