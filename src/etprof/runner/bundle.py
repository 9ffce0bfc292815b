"""A runner with everything it needs in one folder: it runs from any directory of a Linux that has nothing installed."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from etprof.core.digest import RunnerFiles, files_sha256
from etprof.core.errors import RunnerError, UsageError
from etprof.runner.build import BINARY, NativeRunner, Progress, Target, build_runner, cache_dir, rename_unless_there
from etprof.runner.private_folders import check_private, close_to_others, tree_sha256
from etprof.runner.sdk import Sdk
from etprof.runner.toolchain import Compiler

FOLDER_NAME = "etprof-runner"
FACTS = "bundle.json"
_LAUNCHER = "run"
_DIGEST = "sha256"
LOADERS = {"arm64": "ld-linux-aarch64.so.1", "x86_64": "ld-linux-x86-64.so.2"}
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
    loader = LOADERS[target.architecture]
    libraries = {path.name: path for path in sdk.libraries} | find_c_libraries(compiler, target.architecture)
    # The compiler's C library may be another one tomorrow.
    kept = runner.path.parent / f"bundle-{files_sha256(libraries.values())[:16]}"
    bundle = Bundle(kept / FOLDER_NAME, runner, loader)
    if not is_as_it_was_put(kept):
        progress(f"collecting the libraries of {target.name}")
        keep(kept, lambda folder: _fill(folder, bundle, libraries))
    return bundle


def keep(kept: Path, fill: Callable[[Path], None]) -> None:
    """Puts a bundle into the cache, complete and with its digest, in place of what is there."""
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="bundling-") as scratch:
        ready = Path(scratch) / "ready"
        fill(ready / FOLDER_NAME)
        (ready / _DIGEST).write_text(tree_sha256(ready / FOLDER_NAME), encoding="utf-8")
        close_to_others(ready)
        if kept.exists():
            kept.rename(Path(scratch) / "replaced")
        rename_unless_there(ready, kept)


def is_as_it_was_put(kept: Path) -> bool:
    """Whether a bundle is there, and each of its files is the one that was put there."""
    if not (kept / _DIGEST).is_file():
        return False
    check_private(cache_dir(), *kept.rglob("*"))
    return (kept / _DIGEST).read_bytes() == tree_sha256(kept / FOLDER_NAME).encode()


def find_c_libraries(compiler: Compiler, architecture: str) -> dict[str, Path]:
    """The C and C++ libraries of a bundle by the names they have in it, where they are on this machine."""
    return {name: _find_system_library(compiler, name) for name in (*_C_LIBRARIES, LOADERS[architecture])}


def _fill(folder: Path, bundle: Bundle, libraries: dict[str, Path]) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    shutil.copy(bundle.runner.path, folder / "bin" / BINARY)
    for name, library in libraries.items():
        shutil.copy(library, folder / "lib" / name)
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
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


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
