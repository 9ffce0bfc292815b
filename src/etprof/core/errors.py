"""Every error a user can meet, as one tree that the command line catches in one place.

EtprofError                  could not do it; exit code 1
|-- DependencyError          a package or program is missing or has the wrong version
|-- ExportError              a model could not be turned into a trustworthy .pte
|-- RunnerError              a runner failed, timed out or wrote something unreadable
|-- DeviceError              a device cannot be reached or refuses
|-- TraceError               an ETDump or another foreign file cannot be read
|-- StoreError               one of our own files is missing, damaged or from another version
|-- SkillError               a skill's document or its contract is not what a skill is
`-- UsageError               the request itself is wrong; exit code 2
    |-- PlanError            a plan file says something that cannot be run
    `-- UnknownNameError     a name that is not in its list; offers the nearest ones
"""

import difflib
from collections.abc import Iterable


class EtprofError(Exception):
    """A problem in one sentence, with the remedy as a hint."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            # A program that does not catch it shows the remedy in its traceback too.
            self.add_note(f"Hint: {hint}")


class DependencyError(EtprofError):
    pass


class ExportError(EtprofError):
    pass


class RunnerError(EtprofError):
    pass


class DeviceError(EtprofError):
    pass


class TraceError(EtprofError):
    pass


class StoreError(EtprofError):
    pass


class SkillError(EtprofError):
    pass


class UsageError(EtprofError):
    exit_code = 2


class PlanError(UsageError):
    pass


class UnknownNameError(UsageError):
    """The hint names what comes close, or is the given one; `note` follows either."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str = "", note: str = "") -> None:
        close = nearest_names_hint(name, known) or hint
        super().__init__(f"There is no {kind} called {name!r}.", hint=" ".join(filter(None, (close, note))))


def nearest_names_hint(name: str, known: Iterable[str]) -> str:
    """A "did you mean" sentence, or an empty string when nothing comes close."""
    names = list(known)
    folded = {n.lower(): n for n in names}
    close = [folded[n] for n in difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.6)]
    return f"Did you mean {' or '.join(repr(n) for n in close)}?" if close else ""
