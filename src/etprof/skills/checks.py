"""Evaluates one check of a contract: pass, fail, or unknown where it cannot be determined here."""

import glob
import json
import tempfile
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from etprof.devices.local import run_to_its_end
from etprof.skills.contract import CommandCheck, FileCheck, JsonCheck, TextCheck
from etprof.skills.inputs import expand

AnyCheck = FileCheck | JsonCheck | TextCheck | CommandCheck
_COMMAND_NOT_FOUND = 127
_TAIL_LINES = 15


class Status(Enum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Outcome:
    """What became of one part of a contract; `detail` says why it did not pass."""

    part: str
    label: str
    status: Status
    detail: str = ""
    tail: tuple[str, ...] = ()
    duration_s: float = 0.0


@dataclass(frozen=True)
class Place:
    """Where commands run and paths begin, the values of the inputs, and the environment of the commands."""

    workdir: Path
    values: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a shell script ended: what went wrong as a phrase, its exit code if it had one, and what it printed."""

    problem: str
    exit_code: int | None
    output: str

    @property
    def tail(self) -> tuple[str, ...]:
        return tuple(self.output.rstrip().splitlines()[-_TAIL_LINES:])


def run_script(script: str, place: Place, timeout_s: float) -> Ended:
    command = ["bash", "-euo", "pipefail", "-c", script]
    environment = place.environment | place.values
    with tempfile.TemporaryFile() as log:
        problem, exit_code = run_to_its_end(command, log, timeout_s, cwd=place.workdir, env=environment)
        log.seek(0)
        return Ended(problem, exit_code, log.read().decode("utf-8", errors="replace"))


def evaluate(part: str, check: AnyCheck, place: Place) -> Outcome:
    check = fill_in(check, place.values)
    if isinstance(check, CommandCheck):
        return _evaluate_command(part, check, place)
    paths = _find(check.path, place.workdir)
    if not paths:
        return Outcome(part, check.label, Status.FAIL, "no such file")
    for path in paths:
        problem = _problem_of(path, check)
        if problem:
            return Outcome(part, check.label, Status.FAIL, f"{path.name}: {problem}")
    return Outcome(part, check.label, Status.PASS)


def fill_in(check: AnyCheck, values: dict[str, str]) -> AnyCheck:
    """The check with the values of the inputs in it. In commands the shell does that."""
    if isinstance(check, CommandCheck):
        return check
    filled: dict[str, Any] = {"path": expand(check.path, values, "check")}
    if isinstance(check, TextCheck):
        filled["says"] = [expand(text, values, "check") for text in check.says]
    if isinstance(check, JsonCheck):
        filled["values"] = {
            key: expand(value, values, "check") if isinstance(value, str) else value
            for key, value in check.values.items()
        }
    return check.model_copy(update=filled)


def _problem_of(path: Path, check: FileCheck | JsonCheck | TextCheck) -> str:
    if path.is_file() and path.stat().st_size == 0:
        return "it is empty"
    try:
        if isinstance(check, JsonCheck):
            return _json_problem(json.loads(path.read_text(encoding="utf-8")), check)
        if isinstance(check, TextCheck):
            return _text_problem(path.read_text(encoding="utf-8"), check)
    except (OSError, ValueError) as error:
        return f"it cannot be read: {error}"
    return ""


def _json_problem(value: Any, check: JsonCheck) -> str:
    for key in [*check.keys, *check.values]:
        try:
            found = _look_up(value, key)
        except (KeyError, IndexError, TypeError, ValueError):
            return f"it has no {key}"
        if key in check.values:
            wanted = check.values[key]
            if found not in (wanted if isinstance(wanted, list) else [wanted]):
                return f"{key} is {json.dumps(found)}, not {json.dumps(wanted)}"
    return ""


def _look_up(value: Any, key: str) -> Any:
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def _text_problem(text: str, check: TextCheck) -> str:
    missing = [wanted for wanted in check.says if wanted not in text]
    return f"it does not say {missing[0]!r}" if missing else ""


def _evaluate_command(part: str, check: CommandCheck, place: Place) -> Outcome:
    label = check.label
    ended = run_script(check.command, place, check.timeout_s)
    if ended.exit_code is None or ended.exit_code in (_COMMAND_NOT_FOUND, *check.unknown_exits):
        return Outcome(part, label, Status.UNKNOWN, f"cannot be determined: {ended.problem}", ended.tail)
    if ended.problem:
        return Outcome(part, label, Status.FAIL, ended.problem, ended.tail)
    if check.prints not in ended.output:
        return Outcome(part, label, Status.FAIL, f"it did not print {check.prints!r}", ended.tail)
    return Outcome(part, label, Status.PASS)


def _find(pattern: str, workdir: Path) -> list[Path]:
    """The files that fit; `*` of the pattern counts, those of the folder's own name do not."""
    whole = Path(glob.escape(str(workdir.resolve()))) / pattern
    return sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))
