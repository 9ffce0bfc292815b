"""A run's folder survives being packed and unpacked; an archive with anything else in it is refused."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from etprof.core.errors import StoreError
from etprof.store.run_archive import pack_folder, unpack_folder


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_file_arrives(tmp_path: Path) -> None:
    source = tmp_path / "run"
    (source / "on").mkdir(parents=True)
    (source / "manifest.json").write_text("{}")
    (source / "on" / "output_0.bin").write_bytes(b"\0" * 5000)
    os.link(source / "on" / "output_0.bin", source / "on" / "output_1.bin")
    (source / ".lock").write_text("mine")
    (source / "a link").symlink_to("/etc/passwd")
    archive = io.BytesIO()
    pack_folder(source, archive)
    archive.seek(0)
    unpack_folder(archive, tmp_path / "copy")
    wanted = content_of(source)
    del wanted[".lock"], wanted["a link"]
    assert content_of(tmp_path / "copy") == wanted


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "on/../../outside", ".."])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="which no run does"):
        unpack_folder(an_archive(tarfile.TarInfo(name)), tmp_path / "copy")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("on")
    entry.type, entry.linkname = kind, "/etc"
    with pytest.raises(StoreError, match="which no run does"):
        unpack_folder(an_archive(entry), tmp_path / "copy")


def test_bytes_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be unpacked"):
        unpack_folder(io.BytesIO(b"no archive" * 100), tmp_path / "copy")


def an_archive(entry: tarfile.TarInfo) -> io.BytesIO:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as opened:
        opened.addfile(entry)
    archive.seek(0)
    return archive
