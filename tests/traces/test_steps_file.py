"""The times of steps: as many as the file says, none that no step takes."""

import struct
from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.core.workload import MOST_STEP_TIMES
from etprof.traces.steps_file import read_steps


def write(path: Path, *numbers: int, magic: bytes = b"ETSTEPS1") -> Path:
    path.write_bytes(magic + struct.pack(f"<{len(numbers)}q", *numbers))
    return path


def test_a_row_is_a_sequence(tmp_path: Path) -> None:
    assert read_steps(write(tmp_path / "a.steps", 2, 3, 1, 2, 3, 4, 5, 6)).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert read_steps(write(tmp_path / "a.steps", 0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((2, 3, 1), "does not have the size of 2 sequences of 3 steps"),
        ((1, 1, 5, 6), "does not have the size of 1 sequences of 1 steps"),
        ((1, 1, -5), "a time that no step takes"),
        ((1, 1, 1 << 60), "a time that no step takes"),
        ((-1, 1), "says that it has -1 sequences of 1 steps"),
        ((1, 0), "says that it has 1 sequences of 0 steps"),
        ((1 << 40, 1 << 40), "says that it has"),
        ((MOST_STEP_TIMES, 2), "says that it has"),
        ((1,), "does not hold the times of steps"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, numbers: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        read_steps(write(tmp_path / "a.steps", *numbers))


def test_another_file_and_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="does not hold the times of steps"):
        read_steps(write(tmp_path / "a.steps", 1, 1, 5, magic=b"ETDUMP00"))
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_steps(tmp_path / "none.steps")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.steps", 1, 1, 5)
    with path.open("r+b") as file:
        file.truncate(8 * MOST_STEP_TIMES + 1000)
    with pytest.raises(TraceError, match="more than"):
        read_steps(path)
