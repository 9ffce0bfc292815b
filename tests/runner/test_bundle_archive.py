"""A bundle from elsewhere: it is used only if it is whole, and made for this device, executorch and etprof."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from device_builder import a_packed_bundle
from etprof.cli.main import main
from etprof.core.digest import file_sha256
from etprof.core.errors import DependencyError, EtprofError, RunnerError, UsageError
from etprof.runner.bundle import Bundle
from etprof.runner.bundle_archive import open_archive, pack


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def ignore(_: str) -> None:
    pass


def open_here(archive: Path, progress: Callable[[str], None] = ignore) -> Bundle:
    return open_archive(archive, "arm64", "1.5.1", progress)


def rewrite(archive: Path, change: Callable[[tarfile.TarInfo, bytes], tuple[tarfile.TarInfo, bytes] | None]) -> None:
    """Writes an archive again, with each of its entries as `change` returns it."""
    with tarfile.open(archive) as old:
        entries = [(entry, file.read() if (file := old.extractfile(entry)) else b"") for entry in old]
    with tarfile.open(archive, "w:gz") as new:
        for entry, data in filter(None, (change(entry, data) for entry, data in entries)):
            entry.size = len(data)
            new.addfile(entry, io.BytesIO(data))


def test_a_bundle_that_is_opened_is_the_one_that_was_packed(tmp_path: Path) -> None:
    archive, said = a_packed_bundle(tmp_path / "arm64.tar.gz"), list[str]()
    bundle = open_here(archive, said.append)
    assert said == ["unpacking arm64.tar.gz"]
    assert bundle.command("there")[0] == "there/lib/ld-linux-aarch64.so.1"
    assert bundle.description.startswith("bundled native runner")
    assert "executorch 1.5.1" in bundle.description
    assert (bundle.folder / "lib/libone.so").read_text() == "the file lib/libone.so"
    assert open_here(archive, said.append) == bundle
    assert said == ["unpacking arm64.tar.gz"]


def test_files_that_are_packed_with_it_are_checked_too(tmp_path: Path) -> None:
    archive = a_packed_bundle(tmp_path / "arm64.tar.gz")
    pack(open_here(archive), archive, {"licences/one.txt": b"a licence"})
    assert (open_here(archive).folder / "licences/one.txt").read_bytes() == b"a licence"
    rewrite(archive, lambda entry, data: (entry, data.replace(b"a licence", b"no licence")))
    with pytest.raises(RunnerError, match=r"licences/one\.txt is not the file that its SHA256SUMS lists"):
        open_here(archive)


@pytest.mark.parametrize("name", ["bin/etprof_runner", "lib/libone.so", "bundle.json"])
def test_a_changed_a_missing_and_an_added_file_are_refused(tmp_path: Path, name: str, empty_cache: Path) -> None:
    def changed(entry: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
        return entry, data + b" " if entry.name.endswith(name) else data

    def missing(entry: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes] | None:
        return None if entry.name.endswith(name) else (entry, data)

    def renamed(entry: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
        entry.name += "2" if entry.name.endswith(name) else ""
        return entry, data

    for change in (changed, missing, renamed):
        rewrite(a_packed_bundle(tmp_path / "arm64.tar.gz"), change)
        with pytest.raises(
            RunnerError, match=rf"damaged: {name}2? is not the file that its SHA256SUMS lists"
        ) as raised:
            open_here(tmp_path / "arm64.tar.gz")
        assert "etprof runner build --target linux-arm64 --bundle FILE" in raised.value.hint
    assert list((empty_cache / "bundles").iterdir()) == []


@pytest.mark.parametrize("name", ["etprof-runner/../../outside", "/etc/outside", "other/file", "etprof-runner/a\nb"])
def test_what_would_be_written_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    def moved(entry: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
        entry.name = name if entry.name.endswith("libone.so") else entry.name
        return entry, data

    rewrite(a_packed_bundle(tmp_path / "arm64.tar.gz"), moved)
    with pytest.raises(RunnerError, match="does not belong in a bundle"):
        open_here(tmp_path / "arm64.tar.gz")
    assert not (tmp_path / "outside").exists()


def test_a_link_in_a_bundle_is_refused(tmp_path: Path) -> None:
    def linked(entry: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
        if entry.name.endswith("libone.so"):
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            return entry, b""
        return entry, data

    rewrite(a_packed_bundle(tmp_path / "arm64.tar.gz"), linked)
    with pytest.raises(RunnerError, match=r"libone\.so' does not belong in a bundle"):
        open_here(tmp_path / "arm64.tar.gz")


def test_the_checksums_of_a_release_beside_it_have_to_name_it(tmp_path: Path) -> None:
    archive = a_packed_bundle(tmp_path / "arm64.tar.gz")
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{file_sha256(archive)}  arm64.tar.gz\n{'0' * 64}  another.whl\n")
    open_here(archive)
    sums.write_text(f"{'0' * 64}  arm64.tar.gz\n")
    with pytest.raises(RunnerError, match=r"is not the file that .*SHA256SUMS lists"):
        open_here(archive)


def test_a_bundle_for_another_cpu_executorch_or_etprof_is_refused(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, str], type[EtprofError], str]] = [
        ({"target": "linux-x86_64"}, UsageError, "is for linux-x86_64, and the device is arm64"),
        (
            {"executorch": "1.4.0"},
            DependencyError,
            r"was built with executorch 1\.4\.0, and executorch here is 1\.5\.1",
        ),
        ({"version": "0.1.9"}, DependencyError, r"was made by etprof 0\.1\.9, and this is etprof"),
    ]
    for index, (facts, kind, said) in enumerate(cases):
        archive = a_packed_bundle(tmp_path / f"{index}.tar.gz", **facts)
        with pytest.raises(kind, match=said) as raised:
            open_here(archive)
        assert "bundle" in raised.value.hint


def test_a_file_that_is_no_archive_and_one_that_is_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.tar.gz").write_text("no archive")
    with pytest.raises(
        RunnerError, match=r"text\.tar\.gz is not a bundle of etprof, or is damaged: it cannot be unpacked"
    ):
        open_here(tmp_path / "text.tar.gz")
    with pytest.raises(UsageError, match=r"none\.tar\.gz cannot be read: No such file or directory"):
        open_here(tmp_path / "none.tar.gz")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        open_here(tmp_path)


def test_what_was_changed_after_it_was_unpacked_is_unpacked_again(tmp_path: Path) -> None:
    archive, said = a_packed_bundle(tmp_path / "arm64.tar.gz"), list[str]()
    library = open_here(archive).folder / "lib" / "libone.so"
    library.write_text("another library")
    open_here(archive, said.append)
    assert (said, library.read_text()) == (["unpacking arm64.tar.gz"], "the file lib/libone.so")


def test_this_machine_takes_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = a_packed_bundle(tmp_path / "arm64.tar.gz")
    (tmp_path / "model.pte").touch()
    assert main(["kernels", "run", str(tmp_path / "model.pte"), "--runner-bundle", str(archive)]) == 2
    assert "--runner-bundle is for emulated, android and ssh devices." in capsys.readouterr().err
