"""Files that a runner wrote: read, or refused with what is wrong with them."""

from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.traces.runner_answers import RunnerAnswer, read_answer


class Counted(RunnerAnswer):
    count: int


def read(folder: Path, text: str | None) -> Counted:
    path = folder / "answer.json"
    if text is not None:
        path.write_text(text)
    return read_answer(path, Counted, version=2, most_bytes=1000, wrong="is no count")


def test_an_answer_of_the_version_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, '{"schema_version": 2, "count": 3}').count == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "The runner left no result file answer.json."),
        ("nothing", "answer.json is no count: the file: "),
        ('{"schema_version": 2, "count": "many"}', "answer.json is no count: count: "),
        ('{"schema_version": 1, "count": 3}', "answer.json has version 1; this etprof reads version 2."),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str | None, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(tmp_path, text)
    assert caught.value.message.startswith(said)
