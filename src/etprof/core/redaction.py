"""A report without what tells who made it and where: user, host, serial numbers, paths and the command line."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from etprof.core.report import Report
from etprof.core.run import Session

REDACTED = "[redacted]"
# Absolute paths of every system, up to what cannot be a part of one in a sentence.
_PATH = re.compile(r"(?<![\w.)\]/])(?:~|\.\.|file://|[A-Za-z]:)?(?:[/\\][^\s/\\'\"`,;:()<>|\[\]]+){2,}[/\\]?")
_HOME = re.compile(r"[/\\](?:home|Users)[/\\]([^\s/\\'\"`,;:()<>|]+)")
_LOGIN = re.compile(r"([\w.+-]+)@([\w.-]+)")
# Keys of a report's context that are about the place, whatever they hold.
_PLACES = ("command", "plan")
# They tell nobody apart.
_COMMON = {"", "root", "localhost", "local", "this machine", "android", "ssh", "emulated", "recorded", "user"}
T = TypeVar("T")


def redact_report(report: Report, session: Session, *here: str) -> Report:
    """`here` are names of this machine and its user; those of the run are found in its session."""
    kind, _, place = session.device.name.partition(":")
    device = session.device.name if session.device.name in _COMMON else f"{kind}:{REDACTED}" if place else REDACTED
    hidden = _hide_words({*here, *_find_names(session)})
    context = {key: REDACTED if key in _PLACES else value for key, value in report.context.items()}
    if "device" in context:
        context["device"] = device
    return hidden.apply(replace(report, context=context))


def redact_names(value: T, *names: str) -> T:
    """The value without paths and these names, and without the parts of a device's name such as ssh:USER@HOST."""
    parts = {part for name in names for part in re.split(r"[:@/\s]+", name)}
    return _hide_words({*names, *parts}).apply(value)


class _Words:
    def __init__(self, names: set[str]) -> None:
        # The longest first, so that no part of one is left.
        parts = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{parts})(?![A-Za-z0-9])") if names else None

    def apply(self, value: T) -> T:
        """The value with every text in it redacted, however deep it lies."""
        changed: Any = self._change(value)
        return changed  # type: ignore[no-any-return]

    def _change(self, value: Any) -> Any:
        if isinstance(value, str) and type(value) is str:
            return self._redact(value)
        if isinstance(value, Mapping):
            return {self._change(key): self._change(each) for key, each in value.items()}
        if type(value) in (tuple, list):
            return type(value)(self._change(each) for each in value)
        if is_dataclass(value) and not isinstance(value, type):
            own = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
            changes = {name: self._change(each) for name, each in own.items()}
            return replace(value, **{name: each for name, each in changes.items() if each is not own[name]})
        return value

    def _redact(self, text: str) -> str:
        text = _PATH.sub(REDACTED, text)
        return self._pattern.sub(REDACTED, text) if self._pattern else text


def _hide_words(names: set[str]) -> _Words:
    return _Words({name for name in names if name.lower() not in _COMMON and len(name) > 1})


def _find_names(session: Session) -> set[str]:
    """User, host and serial numbers, from the name of the device and from every path of the session."""
    place = session.device.name.partition(":")[2]
    names = {session.device.name, place, *re.split(r"[:@/\s]+", place)}
    plan = (session.plan_path,) if session.plan_path else ()
    programs = [path for each in session.programs for path in (each.program.model, *each.program.inputs)]
    paths = (session.plan.model, session.plan.output_root, *session.plan.inputs, *programs, *plan)
    runners = (e.runner_path for e in session.plan.experiments if e.runner_path)
    texts = [session.command, *session.notes, *(r.error for r in session.results), *map(str, (*paths, *runners))]
    for text in texts:
        names |= set(_HOME.findall(text)) | {part for login in _LOGIN.findall(text) for part in login}
    return names | {name for path in paths for name in _HOME.findall(str(Path(path).absolute()))}
