"""Programs with the memory they planned. A command reads each file once, however many stages of it need it."""

from functools import lru_cache
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.errors import TraceError
from etprof.core.memory import ActivationPlan
from etprof.core.program import DEFAULT_METHOD, ProgramFile
from etprof.core.run import ProgramRecord
from etprof.traces.memory_plan import read_planned_program


def read_model(model: Path) -> ProgramFile:
    return _read(model)[0]


def digest_model(model: Path) -> str:
    """Of a program, or of any other file, such as a model for another runtime."""
    try:
        return read_model(model).sha256
    except TraceError:
        return file_sha256(model)


def find_memory_plan(record: ProgramRecord) -> ActivationPlan | None:
    """What the program of a run planned, where its file is still the one that ran."""
    model = record.program.model
    if not model.is_file() or record.file_bytes not in (None, model.stat().st_size):
        return None
    try:
        program, plans = _read(model)
    except TraceError:
        return None  # what ran was a program
    if program.sha256 != record.model_sha256:
        return None
    only = next(iter(plans)) if len(plans) == 1 else DEFAULT_METHOD
    return plans.get(record.program.method or only)


def _read(model: Path) -> tuple[ProgramFile, dict[str, ActivationPlan]]:
    if not model.is_file():
        return read_planned_program(model)  # which says what it is instead
    state = model.stat()
    return _read_state(model.resolve(), state.st_mtime_ns, state.st_size)


# Variants of a run share their program; it is read again when it has changed.
@lru_cache(maxsize=4)
def _read_state(path: Path, _modified_ns: int, _size: int) -> tuple[ProgramFile, dict[str, ActivationPlan]]:
    return read_planned_program(path)
