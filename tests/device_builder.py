"""Parts of devices that look like the real ones as far as a test needs it: a bundle, a cached runner, an emulator."""

import json
from dataclasses import asdict
from pathlib import Path

from etprof import __version__
from etprof.core.digest import file_sha256
from etprof.runner.build import BINARY, NativeRunner
from etprof.runner.bundle import FACTS, LOADERS, Bundle
from etprof.runner.bundle_archive import pack


def a_bundle(folder: Path) -> Bundle:
    for name in ("bin/etprof_runner", "lib/ld.so", "lib/libone.so"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    runner = NativeRunner(folder / "bin/etprof_runner", "linux-arm64", "1.5.1", folder, "a compiler", "0")
    return Bundle(folder, runner, "ld.so")


def a_packed_bundle(
    archive: Path, *, target: str = "linux-arm64", executorch: str = "1.5.1", version: str = __version__
) -> Path:
    """An archive as `etprof runner build --bundle` writes it, with a program that cannot run."""
    folder = archive.parent / f"unpacked-{archive.name}"
    loader = LOADERS[target.removeprefix("linux-")]
    for name in (f"bin/{BINARY}", f"lib/{loader}", "lib/libone.so"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the file {name}", encoding="utf-8")
    facts = {"target": target, "executorch_version": executorch, "compiler": "g++ 12", "runner_version": version}
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    runner = NativeRunner(folder / "bin" / BINARY, target, executorch, folder, "g++ 12", version)
    pack(Bundle(folder, runner, loader), archive)
    return archive


def a_qemu(folder: Path, version: str) -> Path:
    """A program that says it is QEMU of this version."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "qemu-aarch64"
    program.write_text(f"#!/bin/sh\necho 'qemu-aarch64 version {version} (Debian 1:{version})'\n")
    program.chmod(0o755)
    return program


def keep_runner(cache: Path, name: str) -> NativeRunner:
    """A runner as the cache holds one."""
    folder = cache / "runners" / name
    folder.mkdir(parents=True)
    program = folder / "etprof_runner"
    program.touch()
    digest = file_sha256(program)
    runner = NativeRunner(program, name, "1.5.0", Path("sdk"), "some compiler", "0.0.1", digest)
    (folder / "build.json").write_text(json.dumps(asdict(runner), default=str))
    return runner
