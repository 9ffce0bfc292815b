"""A workload as users write it (JSON), and the Workload it stands for."""

from math import isfinite, prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from etprof.core.errors import PlanError, nearest_names_hint
from etprof.core.plan import MOST_SEED
from etprof.core.workload import (
    ARANGE,
    FILE,
    MOST_PHASES,
    MOST_POSITION,
    MOST_STEPS,
    PHASE_NAME,
    RANDOM,
    VALUE,
    Phase,
    PhaseInput,
    Workload,
)
from etprof.store.file_keys import NOT_OURS, FilePart, describe_place, describe_problem
from etprof.store.json_file import read_json
from etprof.store.paths import require_file

_MOST_INPUTS = 64
_MOST_SIZE = (1 << 31) - 1
_MOST_ELEMENTS = 1 << 30
_FILE_HINT = "A workload is a JSON file with a list of `phases`, each with a `name` and its `inputs`."
_Number = Annotated[int, Field()] | Annotated[float, Field(allow_inf_nan=False)]


class _InputPart(FilePart):
    file: str = Field(default="", description="raw bytes of one step, or of several that the steps take in turn")
    value: _Number | None = Field(default=None, description="every element is this number")
    random: list[_Number] | None = Field(
        default=None, min_length=2, max_length=2, description="lowest and highest; each step draws its own elements"
    )
    arange: bool = Field(default=False, description="the running position and the numbers after it")
    seed: int = Field(default=0, ge=0, lt=MOST_SEED, description="of the random elements")
    shape: list[Annotated[int, Field(ge=1, le=_MOST_SIZE)]] | None = Field(
        default=None, max_length=16, description="such as [1, 32]; default: the largest that the program allows"
    )
    dtype: str = Field(default="", max_length=20, description="such as int64; default: that of the program")

    @model_validator(mode="after")
    def _one_source(self) -> "_InputPart":
        given = (bool(self.file), self.value is not None, self.random is not None, self.arange)
        if sum(given) != 1:
            raise ValueError("it needs exactly one of file, value, random and arange")
        if self.random and not self.random[0] <= self.random[1]:
            raise ValueError("random is [lowest, highest]")
        if prod(self.shape or ()) > _MOST_ELEMENTS:
            raise ValueError("its shape has more elements than a tensor can have")
        return self


class _PhasePart(FilePart):
    name: str = Field(pattern=PHASE_NAME, description="name of the phase in reports")
    method: str = Field(default="", description="method of the program; default: that of the plan")
    inputs: list[_InputPart] = Field(
        default=[], max_length=_MOST_INPUTS, description="what each input of its steps holds"
    )
    repeats: int = Field(default=1, ge=1, le=MOST_STEPS, description="its steps, which follow each other")
    resets: bool = Field(default=False, description="whether state and position are reset before its first step")
    advance: int | None = Field(
        default=None,
        ge=0,
        le=MOST_POSITION,
        description="how far a step moves the position; default: the elements of its arange input, else 1",
    )


class WorkloadFile(FilePart):
    """The whole file, or the value of `workload` in a plan."""

    model_config = ConfigDict(title="etprof workload")

    phases: list[_PhasePart] = Field(min_length=1, max_length=MOST_PHASES, description="in the order they run")

    @model_validator(mode="after")
    def _consistent(self) -> "WorkloadFile":
        names = [phase.name for phase in self.phases]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two phases are called {name!r}")
        if sum(phase.repeats for phase in self.phases) > MOST_STEPS:
            raise ValueError(f"a sequence has at most {MOST_STEPS} steps")
        return self


def load_workload(path: Path) -> Workload:
    return build_workload(read_json(require_file(path, "workload", hint=_FILE_HINT), hint=_FILE_HINT), str(path))


def find_workload(given: Any, source: str) -> Workload | None:
    """What a plan has as `workload`: the object itself, the path of its file, or nothing."""
    if given in (None, ""):
        return None
    return load_workload(Path(given)) if isinstance(given, str) else build_workload(given, source)


def build_workload(value: Any, source: str) -> Workload:
    """The Workload that a decoded JSON value stands for; `source` names it in errors."""
    ours = {key: each for key, each in value.items() if key not in NOT_OURS} if isinstance(value, dict) else value
    try:
        file = WorkloadFile.model_validate(ours)
    except ValidationError as error:
        raise _explain(error, source, value) from error
    workload = Workload(tuple(_phase(part) for part in file.phases))
    if not all(start <= MOST_POSITION for start in workload.starts):
        raise PlanError(f"{source}: the position goes beyond {MOST_POSITION}.", hint=_FILE_HINT)
    return workload


def as_content(workload: Workload) -> dict[str, Any]:
    """What `build_workload` reads as this workload. What has its default value is left out, for a person."""
    return {"phases": [_phase_content(phase) for phase in workload.phases]}


def json_schema() -> dict[str, Any]:
    """The schema editors use."""
    schema = WorkloadFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["properties"] |= {key: {"type": "string"} for key in NOT_OURS}
    return schema


def _phase(part: _PhasePart) -> Phase:
    return Phase(
        name=part.name,
        method=part.method,
        inputs=tuple(_input(each) for each in part.inputs),
        repeats=part.repeats,
        resets=part.resets,
        advance=part.advance,
    )


def _input(part: _InputPart) -> PhaseInput:
    low, high = part.random or (0, 0)
    return PhaseInput(
        fill=FILE if part.file else VALUE if part.value is not None else RANDOM if part.random else ARANGE,
        file=Path(part.file) if part.file else None,
        value=part.value or 0,
        low=low,
        high=high,
        seed=part.seed,
        shape=None if part.shape is None else tuple(part.shape),
        dtype=part.dtype,
    )


def _phase_content(phase: Phase) -> dict[str, Any]:
    content = {
        "name": phase.name,
        "method": phase.method,
        "inputs": [_input_content(each) for each in phase.inputs],
        "repeats": phase.repeats if phase.repeats != 1 else None,
        "resets": phase.resets,
        "advance": phase.advance,
    }
    return {key: value for key, value in content.items() if value or (key == "advance" and value is not None)}


def _input_content(given: PhaseInput) -> dict[str, Any]:
    source: dict[str, Any] = {
        FILE: str(given.file), VALUE: given.value, RANDOM: [given.low, given.high], ARANGE: True,
    }  # fmt: skip
    content = {given.fill: source[given.fill]}
    if given.seed:
        content["seed"] = given.seed
    if given.shape is not None:
        content["shape"] = list(given.shape)
    return {**content, "dtype": given.dtype} if given.dtype else content


def _explain(error: ValidationError, source: str, typed: Any) -> PlanError:
    """The first mistake, with the name of its phase where that can be read."""
    first = error.errors()[0]
    where = describe_place(_drop_unions(first["loc"])) or "the file"
    name = _name_phase(first["loc"], typed)
    if first["type"] == "extra_forbidden":
        known = _known_keys(first["loc"][:-1])
        hint = nearest_names_hint(str(first["loc"][-1]), known) or f"Known keys here: {', '.join(known)}."
        return PlanError(f"{source}: there is no key {where!r}{name}.", hint=hint)
    if first["type"] == "missing":
        return PlanError(f"{source}: the key {where!r}{name} is missing.", hint=_FILE_HINT)
    problem = describe_problem(error)
    shown = "" if isinstance(first["input"], (dict, list, BaseModel)) else f" is {_show(first['input'])}"
    return PlanError(f"{source}: {where}{name}{shown}: {problem}.", hint=_FILE_HINT)


def _show(value: object) -> str:
    if isinstance(value, float) and not isfinite(value):
        return "not a finite number"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _drop_unions(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """pydantic adds the type that it tried where a number may be whole or not."""
    return tuple(part for part in location if part not in ("int", "float", "constrained-float"))


def _name_phase(location: tuple[int | str, ...], typed: Any) -> str:
    if len(location) < 3 or location[0] != "phases" or not isinstance(location[1], int):
        return ""
    name = typed["phases"][location[1]].get("name")
    return f" ({name})" if isinstance(name, str) and len(name) <= 60 and name.isprintable() else ""


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    here: type[BaseModel] = WorkloadFile
    parts: dict[str, type[BaseModel]] = {"phases": _PhasePart, "inputs": _InputPart}
    for name in location:
        here = parts.get(str(name), here)
    return list(here.model_fields)
