"""A bundle as one file: how it is packed, and how one that was made elsewhere is checked and unpacked."""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import etprof
from etprof.core.digest import file_sha256
from etprof.core.errors import DependencyError, RunnerError, UsageError
from etprof.core.regular_files import read_regular
from etprof.runner.build import BINARY, NativeRunner, Progress, cache_dir, make_cache_folder
from etprof.runner.bundle import FACTS, FOLDER_NAME, LOADERS, Bundle, is_as_it_was_put, keep

# Beside the files in the archive, and beside the archives of a release; what `sha256sum --check` reads.
CHECKSUMS = "SHA256SUMS"
# A bundle has about 20 files and 20 MB.
_MOST_FILES = 200
_MOST_BYTES = 256 << 20
_MEMBER = re.compile(rf"{FOLDER_NAME}(/[\w.+-]+)*", re.ASCII)
_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_MAKE_ONE = "Make one: etprof runner build --target linux-arm64 --bundle FILE"


def make_place(archive: Path) -> None:
    """Its folder, before time is spent on what goes there."""
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunnerError(f"The bundle cannot be written to {archive}: {error.strerror}.") from error


def pack(bundle: Bundle, archive: Path, extra: Mapping[str, bytes] | None = None) -> None:
    """Writes the bundle as a .tar.gz, with further files by their names in it; the same gives the same bytes."""
    make_place(archive)
    temporary = archive.with_name(archive.name + ".part")
    try:
        with temporary.open("wb") as file:
            _write_archive(bundle.folder, extra or {}, file)
        temporary.replace(archive)
    except OSError as error:
        if temporary.is_file():
            temporary.unlink()
        raise RunnerError(f"The bundle cannot be written to {archive}: {error.strerror}.") from error


def open_archive(archive: Path, architecture: str, executorch_version: str, progress: Progress) -> Bundle:
    """The bundle in this file, unpacked into the cache, if it is whole and fits the device and this etprof."""
    try:
        content = read_regular(archive, _MOST_BYTES)
        digest = hashlib.sha256(content).hexdigest()
        _check_listed(archive, digest)
    except OSError as error:
        raise UsageError(f"The bundle {archive} cannot be read: {error.strerror}.", hint=_MAKE_ONE) from error
    kept = cache_dir() / "bundles" / digest[:16]
    make_cache_folder(kept.parent)
    if not is_as_it_was_put(kept):
        progress(f"unpacking {archive.name}")
        files = _read_files(archive.name, content)
        _check_digests(archive.name, files)
        _keep_files(kept, files)
    runner = _read_runner(kept / FOLDER_NAME, archive.name)
    _check_fits(runner, archive.name, architecture, executorch_version)
    return Bundle(kept / FOLDER_NAME, runner, LOADERS[architecture])


def _write_archive(folder: Path, extra: Mapping[str, bytes], file: BinaryIO) -> None:
    inside = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.name != CHECKSUMS}
    digests = {name: file_sha256(path) for name, path in inside.items() if path.is_file()}
    digests |= {name: hashlib.sha256(content).hexdigest() for name, content in extra.items()}
    sums = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    with (
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for name, path in inside.items():
            tar.add(path, f"{FOLDER_NAME}/{name}", recursive=False, filter=_anonymous)
        for name, content in sorted({**extra, CHECKSUMS: sums.encode()}.items()):
            entry = tarfile.TarInfo(f"{FOLDER_NAME}/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


def _check_listed(archive: Path, digest: str) -> None:
    """Where the checksums of a release lie beside the archive and name it, it has to be that one."""
    listing = archive.with_name(CHECKSUMS)
    if not listing.is_file():
        return
    known = _read_checksums(read_regular(listing, _MOST_BYTES))
    if archive.name in known and known[archive.name] != digest:
        raise RunnerError(
            f"{archive} is not the file that {listing} lists: its SHA-256 differs.", hint="Fetch the bundle again."
        )


def _read_checksums(content: bytes) -> dict[str, str]:
    lines = content.decode("utf-8", errors="replace").splitlines()
    return {found[2]: found[1] for found in map(_CHECKSUM_LINE.fullmatch, lines) if found}


def _read_files(name: str, content: bytes) -> dict[str, tuple[bytes, bool]]:
    """The files of an archive by their names, with whether they can be executed; links and other paths are refused."""
    files: dict[str, tuple[bytes, bool]] = {}
    left = _MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
            for entry in tar:
                left -= entry.size
                if not _is_member(entry) or left < 0 or len(files) >= _MOST_FILES:
                    raise _damaged(name, f"{entry.name!r} does not belong in a bundle")
                data = tar.extractfile(entry)
                if data is not None:
                    files[entry.name.removeprefix(f"{FOLDER_NAME}/")] = (data.read(), bool(entry.mode & 0o100))
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error) as error:
        raise _damaged(name, "it cannot be unpacked") from error
    return files


def _is_member(entry: tarfile.TarInfo) -> bool:
    is_below = _MEMBER.fullmatch(entry.name) and not {".", ".."} & set(entry.name.split("/"))
    return bool(is_below) and (entry.isreg() or entry.isdir())


def _check_digests(name: str, files: Mapping[str, tuple[bytes, bool]]) -> None:
    if CHECKSUMS not in files:
        raise _damaged(name, f"it has no {CHECKSUMS}")
    listed = _read_checksums(files[CHECKSUMS][0])
    found = {file: hashlib.sha256(data).hexdigest() for file, (data, _) in files.items() if file != CHECKSUMS}
    if wrong := sorted(file for file in listed.keys() | found.keys() if listed.get(file) != found.get(file)):
        raise _damaged(name, f"{wrong[0]} is not the file that its {CHECKSUMS} lists")
    for file in (FACTS, f"bin/{BINARY}"):
        if file not in found:
            raise _damaged(name, f"it has no {file}")


def _keep_files(kept: Path, files: Mapping[str, tuple[bytes, bool]]) -> None:
    try:
        keep(kept, lambda folder: _write_files(folder, files))
    except OSError as error:
        raise RunnerError(f"The bundle cannot be unpacked into {kept.parent}: {error.strerror}.") from error


def _write_files(folder: Path, files: Mapping[str, tuple[bytes, bool]]) -> None:
    for name, (data, is_program) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if is_program else 0o644)


def _read_runner(folder: Path, name: str) -> NativeRunner:
    program = folder / "bin" / BINARY
    try:
        facts = json.loads((folder / FACTS).read_bytes())
        told = [facts[field] for field in ("target", "executorch_version", "compiler", "runner_version")]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(name, f"its {FACTS} says too little") from error
    target, version, compiler, runner_version = map(str, told)
    return NativeRunner(program, target, version, folder, compiler, runner_version, file_sha256(program))


def _check_fits(runner: NativeRunner, name: str, architecture: str, executorch_version: str) -> None:
    if runner.target != f"linux-{architecture}":
        raise UsageError(
            f"{name} is for {runner.target}, and the device is {architecture}.",
            hint=f"Name a bundle for linux-{architecture}.",
        )
    if not (runner.path.parents[1] / "lib" / LOADERS[architecture]).is_file():
        raise _damaged(name, f"it has no lib/{LOADERS[architecture]}")
    if runner.executorch_version != executorch_version:
        raise DependencyError(
            f"{name} was built with executorch {runner.executorch_version}, and executorch here is "
            f"{executorch_version}.",
            hint=f"Use a bundle for executorch {executorch_version}. {_MAKE_ONE}",
        )
    if _series(runner.runner_version) != _series(etprof.__version__):
        raise DependencyError(
            f"{name} was made by etprof {runner.runner_version}, and this is etprof {etprof.__version__}.",
            hint=f"Use a bundle of etprof {_series(etprof.__version__)}. {_MAKE_ONE}",
        )


def _series(version: str) -> str:
    """Versions of one series take the same flags and write the same results."""
    return ".".join(version.split(".")[:2])


def _damaged(name: str, reason: str) -> RunnerError:
    return RunnerError(
        f"{name} is not a bundle of etprof, or is damaged: {reason}.", hint=f"Fetch it again. {_MAKE_ONE}"
    )
