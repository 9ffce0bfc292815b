"""A workload as runners get it: where the bytes of every input lie, and which steps are traced; nothing left to decide.

Lines of text, up to one that is `data`; then the bytes of all inputs. The native runner reads the same in workload.cpp.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etprof.core.errors import RunnerError
from etprof.core.run import INPUTS_WRONG
from etprof.core.units import spell_shape

_FIRST_LINE = "etprof workload 1"
_DATA = b"\ndata\n"
# Of each tensor in the data, so that none straddles a cache line it could begin with.
ALIGNMENT = 64


class NoWorkloadError(RunnerError):
    exit_code = INPUTS_WRONG


@dataclass(frozen=True)
class PlannedInput:
    """`slices` tensors of one shape lie one after the other from `offset` on; the steps take them in turn."""

    shape: tuple[int, ...]
    offset: int
    slices: int = 1


@dataclass(frozen=True)
class PlannedPhase:
    """`traced` are the steps that a traced sequence has, by their number in the phase."""

    name: str
    method: str
    inputs: tuple[PlannedInput, ...]
    repeats: int = 1
    resets: bool = False
    traced: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlannedWorkload:
    """`shared` are the planned buffers, by index, that all methods have in common."""

    phases: tuple[PlannedPhase, ...]
    data: bytes | bytearray
    has_state: bool = False
    shared: tuple[int, ...] = ()

    @property
    def step_count(self) -> int:
        return sum(phase.repeats for phase in self.phases)


def render_workload(planned: PlannedWorkload) -> bytes:
    return "\n".join(_list_lines(planned)).encode() + _DATA + bytes(planned.data)


def parse_workload(content: bytes, source: str) -> PlannedWorkload:
    """`source` names it in errors."""
    head, data, rest = content.partition(_DATA)
    try:
        lines = head.decode().split("\n")
        if not data or lines[0] != _FIRST_LINE:
            raise ValueError("it has no data")
        return _check(_parse_lines(lines[1:], rest))
    except (ValueError, IndexError) as error:
        raise NoWorkloadError(f"{source} is not a workload that etprof wrote.") from error


def _list_lines(planned: PlannedWorkload) -> Iterator[str]:
    yield _FIRST_LINE
    yield f"state {int(planned.has_state)}"
    if planned.shared:
        yield f"shared {_join(planned.shared)}"
    for phase in planned.phases:
        yield f"phase {int(phase.resets)} {phase.repeats} {phase.name}"
        yield f"method {phase.method}"
        yield f"trace {_join(phase.traced)}"
        for each in phase.inputs:
            yield f"input {spell_shape(each.shape)} {each.offset} {each.slices}"


def _parse_lines(lines: Sequence[str], data: bytes) -> PlannedWorkload:
    facts: dict[str, str] = {}
    phases: list[dict[str, str]] = []
    inputs: list[list[PlannedInput]] = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "phase":
            resets, repeats, name = rest.split(" ", 2)
            phases.append({"resets": resets, "repeats": repeats, "name": name})
            inputs.append([])
        elif kind == "input":
            shape, offset, slices = rest.split(" ")
            sizes = () if shape == "scalar" else tuple(int(size) for size in shape.split("x"))
            inputs[-1].append(PlannedInput(sizes, int(offset), int(slices)))
        elif kind in ("method", "trace"):
            phases[-1][kind] = rest
        elif kind in ("state", "shared"):
            facts[kind] = rest
        else:
            raise ValueError(line)
    return PlannedWorkload(
        phases=tuple(_build_phase(each, tuple(own)) for each, own in zip(phases, inputs, strict=True)),
        data=bytearray(data),
        has_state=facts.get("state") == "1",
        shared=_numbers(facts.get("shared", "")),
    )


def _build_phase(said: dict[str, str], inputs: tuple[PlannedInput, ...]) -> PlannedPhase:
    repeats, traced = int(said["repeats"]), _numbers(said.get("trace", ""))
    return PlannedPhase(said["name"], said.get("method", ""), inputs, repeats, said["resets"] == "1", traced)


def _check(planned: PlannedWorkload) -> PlannedWorkload:
    for phase in planned.phases:
        if phase.repeats < 1 or any(not 0 <= index < phase.repeats for index in phase.traced):
            raise ValueError(phase.name)
        for each in phase.inputs:
            if each.slices < 1 or min((each.offset, *each.shape)) < 0 or each.offset > len(planned.data):
                raise ValueError(phase.name)
    if not planned.phases:
        raise ValueError("it has no phases")
    return planned


def _join(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split())
