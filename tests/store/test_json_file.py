"""Files of ours: written whole or not at all, and read with one sentence for each way to fail."""

import json
import os
from pathlib import Path

import pytest

from etprof.core.errors import StoreError
from etprof.store.json_file import read_json, write_bytes, write_json, write_text


def test_what_is_written_is_read_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.json"
    value = {"text": "é ß 漢字", "list": [1, 2.5, None, True]}
    write_json(path, value)
    assert read_json(path) == value
    assert "é ß 漢字" in path.read_text(encoding="utf-8"), "a person can read it too"
    assert path.read_bytes().endswith(b"}\n")


def test_text_and_bytes_take_the_place_of_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "first, and longer")
    write_text(path, "second")
    assert path.read_text() == "second"
    write_bytes(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"], "nothing is left beside it"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_json(path, "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match=r"a\.json cannot be written: No space left on device") as caught:
        write_json(path, "new")
    assert "permissions" in caught.value.hint
    assert read_json(path) == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_a_value_that_is_not_json_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert not path.exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be written"):
        write_text(tmp_path / "file" / "a.txt", "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b'{\n"a": }', r"is not valid JSON: .* at line 2"), (b"\xff\xfe", "cannot be read"), (b"", "is not valid JSON")],
)
def test_a_file_that_is_not_json_is_said_with_the_hint(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        read_json(path, hint="Write it again.")
    assert caught.value.hint == "Write it again."


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be read"):
        read_json(tmp_path)


def test_a_reader_never_meets_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, list(range(1000)))
    with path.open(encoding="utf-8") as reader:
        before = os.fstat(reader.fileno()).st_ino
        write_json(path, [])
        assert json.load(reader) == list(range(1000)), "who reads the old file reads all of it"
    assert path.stat().st_ino != before
