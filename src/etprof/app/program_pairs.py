"""Programs that are compared have to do the same work: the same inputs, and outputs of the same number and shapes."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from etprof.app.program_checks import SettledProgram
from etprof.core.digest import file_sha256
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from etprof.core.program import ProgramTensor
from etprof.core.workload import Workload
from etprof.traces.runner_result import is_number, read_values

# What rounding to half precision, of eight bits at the least, changes of a value.
_ROUNDING = 2.0**-7


def refuse_other_work(plan: Plan, programs: Sequence[SettledProgram]) -> None:
    """What could not be compared after the run is said before it."""
    of = {name: each for each in programs for name in each.record.experiments}
    for before, after in plan.compared:
        one, other = of[before.experiment], of[after.experiment]
        for difference in _list_differences(one, other) if one is not other else ():
            raise UsageError(
                f"{before.experiment} and {after.experiment} cannot be compared: {difference}.",
                hint="Compare exports of the same model with the same inputs; `inputs` of an experiment names others.",
            )


def _list_differences(one: SettledProgram, other: SettledProgram) -> Iterator[str]:
    if one.workload or other.workload:
        yield from _compare_workloads(one, other)
        return
    names = [each.record.program.model.name for each in (one, other)]
    labels = names if names[0] != names[1] else [str(each.record.program.model) for each in (one, other)]
    for kind, ours, theirs in (
        ("takes", _describe_inputs(one), _describe_inputs(other)),
        ("gives", _describe_outputs(one), _describe_outputs(other)),
    ):
        if not _are_alike(ours, theirs):
            yield f"{labels[0]} {kind} {_listed(ours)}, and {labels[1]} {_listed(theirs)}"
    for index, (mine, yours) in enumerate(zip_longest(_list_files(one), _list_files(other))):
        if mine is None or yours is None:
            yield f"the inputs of {labels[0] if mine is None else labels[1]} are filled with ones, the other's are not"
        elif not _hold_the_same(mine, yours):
            yield f"input {index} of {labels[0]} has other values than that of {labels[1]}"


def _compare_workloads(one: SettledProgram, other: SettledProgram) -> Iterator[str]:
    """Methods may have other names, and inputs other types; what a file holds is another matter where types agree."""
    ours, theirs = one.record.program.workload, other.record.program.workload
    if ours is None or theirs is None:
        yield "only one of them runs a workload"
    elif ours.outline != theirs.outline:
        yield "the phases of their workloads differ"
    elif _types(ours) == _types(theirs) and [*map(file_sha256, ours.files)] != [*map(file_sha256, theirs.files)]:
        yield "the files of their workloads hold other values"


def _types(workload: Workload) -> list[str]:
    return [each.dtype for phase in workload.phases for each in phase.inputs]


def _describe_inputs(settled: SettledProgram) -> list[tuple[int, ...] | str | None]:
    shapes = settled.record.program.input_shapes
    return list(shapes) or [_describe(each) for each in settled.method.inputs]


def _describe_outputs(settled: SettledProgram) -> list[tuple[int, ...] | str | None]:
    return [_describe(each) for each in settled.method.outputs]


def _describe(tensor: ProgramTensor | str) -> tuple[int, ...] | str | None:
    """The shape, None where it may vary, or the name of what is no tensor."""
    return tensor if isinstance(tensor, str) else None if tensor.is_dynamic else tensor.shape


def _are_alike(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    return len(ours) == len(theirs) and all(a == b or None in (a, b) for a, b in zip(ours, theirs, strict=True))


def _listed(shapes: Sequence[tuple[int, ...] | str | None]) -> str:
    words = ("a dynamic shape" if s is None else s if isinstance(s, str) else str(list(s)) for s in shapes)
    return ", ".join(words) or "nothing"


def _list_files(settled: SettledProgram) -> list[tuple[Path, str, str]]:
    """Path, digest and type of each input."""
    types = [each if isinstance(each, str) else each.dtype for each in settled.method.inputs]
    record = settled.record
    return list(zip(record.program.inputs, record.inputs_sha256, types, strict=False))


def _hold_the_same(one: tuple[Path, str, str], other: tuple[Path, str, str]) -> bool:
    """Whether the values are equal, or were rounded to another type."""
    (path, digest, dtype), (other_path, other_digest, other_dtype) = one, other
    if digest == other_digest and dtype == other_dtype:
        return True
    if dtype == other_dtype or not (is_number(dtype) and is_number(other_dtype)):
        return False
    ours, theirs = read_values(path, dtype), read_values(other_path, other_dtype)
    scale = float(np.max(np.abs(ours), initial=0.0))
    return ours.shape == theirs.shape and bool(np.all(np.abs(ours - theirs) <= _ROUNDING * scale))
