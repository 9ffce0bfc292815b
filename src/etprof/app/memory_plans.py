"""The memory that the program of a run planned, where its file is still the one that ran."""

from functools import lru_cache
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.memory import ActivationPlan
from etprof.core.program import DEFAULT_METHOD
from etprof.core.run import ProgramRecord
from etprof.traces.memory_plan import read_memory_plans


def find_memory_plan(record: ProgramRecord) -> ActivationPlan | None:
    model = record.program.model
    if not model.is_file():
        return None
    state = model.stat()
    if record.file_bytes not in (None, state.st_size):
        return None
    plans = _read(model.resolve(), state.st_mtime_ns, state.st_size, record.model_sha256)
    only = next(iter(plans)) if len(plans) == 1 else DEFAULT_METHOD
    return plans.get(record.program.method or only)


# Variants of a run share their program; it is read again when it has changed.
@lru_cache(maxsize=4)
def _read(path: Path, _modified_ns: int, _size: int, sha256: str) -> dict[str, ActivationPlan]:
    return read_memory_plans(path) if file_sha256(path) == sha256 else {}
