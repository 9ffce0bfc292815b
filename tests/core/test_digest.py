"""Digests of files and folders."""

import hashlib
from pathlib import Path

import pytest

from etprof.core.digest import content_sha256, file_sha256


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1])
def test_the_digest_of_a_file_is_that_of_its_bytes(size: int, tmp_path: Path) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    (tmp_path / "file").write_bytes(content)
    assert file_sha256(tmp_path / "file") == content_sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_the_digest_of_a_folder_changes_with_a_name_and_with_a_byte(tmp_path: Path) -> None:
    def digest(**files: str) -> str:
        folder = tmp_path / "_".join([*files, *files.values()])
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_text(content)
        return content_sha256(folder)

    same = {digest(a="1", b="2"), digest(b="2", a="1")}
    assert len(same) == 1
    assert len(same | {digest(a="1", b="3"), digest(a="1", c="2"), digest(a="12"), digest(a="2", b="1")}) == 5


def test_a_folder_within_a_folder_is_not_part_of_its_digest(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    before = content_sha256(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "file.pyc").write_text("y")
    assert content_sha256(tmp_path) == before
