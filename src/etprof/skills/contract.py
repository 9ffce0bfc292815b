"""The contract of a skill: its inputs, what it requires, its steps, its outputs and the checks on them."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from etprof.core.errors import SkillError

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HINT = "agent_skill_ml_profiling/readme.md describes the contract."
Scalar = str | int | float | bool | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Input(_Part):
    """A value the commands use as a shell variable; a default may differ by host and may use inputs before it."""

    about: str
    default: str | dict[str, str]


class StepPromise(_Part):
    """A step is the shell block below the heading `### <title>`; exit codes that mean "cannot tell" are listed."""

    title: str
    timeout_s: float = Field(gt=0)
    unknown_exits: list[int] = []


class FileCheck(_Part):
    """At least one file of that name is there, and none of them is empty. `*` stands for any text."""

    kind: Literal["file"]
    path: str
    reason: str = ""

    @property
    def label(self) -> str:
        return f"{self.path} is there"


class JsonCheck(_Part):
    """A JSON file has these keys, and these values; keys inside others are joined by dots, a list means any of it."""

    kind: Literal["json"]
    path: str
    keys: list[str] = []
    values: dict[str, Scalar | list[Scalar]] = {}
    reason: str = ""

    @property
    def label(self) -> str:
        wanted = [*self.keys, *(f"{key} = {json.dumps(value)}" for key, value in self.values.items())]
        return f"{self.path} has {', '.join(wanted)}"


class TextCheck(_Part):
    """A text file says all of these."""

    kind: Literal["text"]
    path: str
    says: list[str] = Field(min_length=1)
    reason: str = ""

    @property
    def label(self) -> str:
        return f"{self.path} says {', '.join(repr(text) for text in self.says)}"


class CommandCheck(_Part):
    """A shell command ends with 0 and prints something; exit codes that mean "cannot tell" are listed."""

    kind: Literal["command"]
    command: str
    prints: str = ""
    unknown_exits: list[int] = []
    timeout_s: float = Field(default=120.0, gt=0)
    reason: str = ""

    @property
    def label(self) -> str:
        return f"`{self.command}` succeeds" + (f" and prints {self.prints!r}" if self.prints else "")


Check = Annotated[FileCheck | JsonCheck | TextCheck | CommandCheck, Field(discriminator="kind")]


class Contract(_Part):
    schema_version: Literal[1]
    id: str = Field(pattern=r"^skill\.[a-z0-9_]+$")
    inputs: dict[str, Input] = {}
    requires: list[Check] = []
    steps: list[StepPromise] = Field(min_length=1)
    outputs: list[str] = Field(min_length=1)
    checks: list[Check] = Field(min_length=1)
    next: str | None

    @field_validator("inputs")
    @classmethod
    def _named_like_variables(cls, value: dict[str, Input]) -> dict[str, Input]:
        for name in value:
            if not _NAME.fullmatch(name):
                raise ValueError(f"the input {name!r} is not a lower-case shell variable name")
        return value


def parse_contract(text: str, source: str) -> Contract:
    """The contract that a document's block stands for; `source` names the document in errors."""
    try:
        value: Any = json.loads(text)
    except RecursionError as error:
        raise SkillError(f"{source}: the contract is nested too deeply.", hint=_HINT) from error
    except json.JSONDecodeError as error:
        raise SkillError(
            f"{source}: the contract is not valid JSON: {error.msg} at its line {error.lineno}.", hint=_HINT
        ) from error
    try:
        return Contract.model_validate(value)
    except ValidationError as error:
        raise _explain(error, source) from error


def _explain(error: ValidationError, source: str) -> SkillError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the contract"
    if first["type"] == "extra_forbidden":
        return SkillError(f"{source}: the contract has no key {where!r}.", hint=_HINT)
    if first["type"] == "missing":
        return SkillError(f"{source}: the contract's key {where!r} is missing.", hint=_HINT)
    problem = first["msg"].removeprefix("Value error, ")
    return SkillError(f"{source}: the contract's {where}: {problem}.", hint=_HINT)
