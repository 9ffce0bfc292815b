"""A JSON file that a runner wrote, read with one clear error for each way in which it can be wrong."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from etprof.core.errors import TraceError
from etprof.core.regular_files import read_regular


class RunnerAnswer(BaseModel):
    schema_version: int


Answer = TypeVar("Answer", bound=RunnerAnswer)


def read_answer(path: Path, answer: type[Answer], *, version: int, most_bytes: int, wrong: str) -> Answer:
    """`wrong` is what is said of a file that holds something else, such as "is not a runner's result"."""
    try:
        said = answer.model_validate_json(read_regular(path, most_bytes))
    except OSError as error:
        raise TraceError(f"The runner left no result file {path.name}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise TraceError(f"{path.name} {wrong}: {where}: {first['msg']}.") from error
    if said.schema_version != version:
        raise TraceError(
            f"{path.name} has version {said.schema_version}; this etprof reads version {version}.",
            hint="Rebuild the runner with `etprof runner build`.",
        )
    return said
