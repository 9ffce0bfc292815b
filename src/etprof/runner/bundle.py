"""A runner with everything it needs in one folder: it runs from any directory of a Linux that has nothing installed."""

import gzip
import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from etprof.core.digest import RunnerFiles
from etprof.core.errors import RunnerError, UsageError
from etprof.runner.build import BINARY, NativeRunner, Progress, Target, build_runner, rename_unless_there
from etprof.runner.sdk import Sdk
from etprof.runner.toolchain import Compiler

FOLDER_NAME = "etprof-runner"
_LAUNCHER = "run"
_LOADERS = {"arm64": "ld-linux-aarch64.so.1", "x86_64": "ld-linux-x86-64.so.2"}
_C_LIBRARIES = ("libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2")
_LAUNCHER_TEXT = """#!/bin/sh
# Starts the runner with the libraries of this folder, wherever the folder is.
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
here=$(cd "$here" && pwd) || exit 4
exec "$here/lib/@LOADER@" --library-path "$here/lib" "$here/bin/@BINARY@" "$@"
"""


@dataclass(frozen=True)
class Bundle:
    """An unpacked bundle on this machine; `command` says how to start it from wherever it is copied to."""

    folder: Path
    runner: NativeRunner
    loader: str

    @property
    def files(self) -> RunnerFiles:
        return RunnerFiles((self.folder / "bin" / BINARY,), tuple((self.folder / "lib").iterdir()))

    def command(self, folder: str) -> tuple[str, ...]:
        """Arguments that start the bundle in `folder` of another machine, without a shell."""
        return (f"{folder}/lib/{self.loader}", "--library-path", f"{folder}/lib", f"{folder}/bin/{BINARY}")

    @property
    def description(self) -> str:
        return f"bundled {self.runner.description}"


def ensure_bundle(
    sdk: Sdk, compiler: Compiler, target: Target, *, force: bool = False, progress: Progress = lambda _: None
) -> Bundle:
    """The bundle for this target, built now if necessary."""
    if target.system != "linux" or compiler.is_toolchain_file:
        raise UsageError(
            "Only a runner that a plain compiler builds for Linux can be bundled, with that compiler's C library.",
            hint="Omit --bundle or --toolchain-file.",
        )
    # The path of this machine's SDK must not be in a program that is copied elsewhere.
    relocatable = Target(target.system, target.architecture, (*target.cmake_options, "-DETPROF_RELOCATABLE=ON"))
    runner = build_runner(sdk, compiler, relocatable, force=force, progress=progress)
    bundle = Bundle(runner.path.parent / FOLDER_NAME, runner, _LOADERS[target.architecture])
    if not bundle.folder.exists():
        progress(f"collecting the libraries of {target.name}")
        with tempfile.TemporaryDirectory(dir=runner.path.parent, prefix="bundling-") as scratch:
            ready = Path(scratch) / FOLDER_NAME
            _fill(ready, bundle, sdk, compiler)
            rename_unless_there(ready, bundle.folder)
    return bundle


def pack(bundle: Bundle, archive: Path) -> None:
    """Writes the bundle as a .tar.gz; the same bundle always gives the same bytes."""
    temporary = archive.with_name(archive.name + ".part")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            _write_archive(bundle.folder, file)
        temporary.replace(archive)
    except OSError as error:
        if temporary.is_file():
            temporary.unlink()
        raise RunnerError(f"The bundle cannot be written to {archive}: {error.strerror}.") from error


def _write_archive(folder: Path, file: BinaryIO) -> None:
    with (
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{FOLDER_NAME}/{path.relative_to(folder)}", recursive=False, filter=_anonymous)


def _fill(folder: Path, bundle: Bundle, sdk: Sdk, compiler: Compiler) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    shutil.copy(bundle.runner.path, folder / "bin" / BINARY)
    for library in sdk.libraries:
        shutil.copy(library, folder / "lib" / library.name)
    for name in (*_C_LIBRARIES, bundle.loader):
        shutil.copy(_find_system_library(compiler, name), folder / "lib" / name)
    (folder / "lib" / bundle.loader).chmod(0o755)
    launcher = folder / _LAUNCHER
    launcher.write_text(_LAUNCHER_TEXT.replace("@LOADER@", bundle.loader).replace("@BINARY@", BINARY), encoding="utf-8")
    launcher.chmod(0o755)
    facts = {
        "schema_version": 1,
        "target": bundle.runner.target,
        "runner_version": bundle.runner.runner_version,
        "executorch_version": bundle.runner.executorch_version,
        "compiler": bundle.runner.compiler,
        "command": bundle.command("{folder}"),
    }
    (folder / "bundle.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _find_system_library(compiler: Compiler, name: str) -> Path:
    """Where the compiler would link this library from; it is a file of the target, not of this machine."""
    done = subprocess.run(
        [compiler.path, f"-print-file-name={name}"], capture_output=True, text=True, timeout=30, check=False
    )
    path = Path(done.stdout.strip())
    # A compiler that does not find a library answers with the bare name.
    if done.returncode != 0 or not path.is_absolute():
        raise RunnerError(f"{compiler.path} has no {name} to put into a bundle.")
    return path.resolve()


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry
