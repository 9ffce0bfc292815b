"""The runner for macOS, compiled and linked here against the libraries of the macOS wheel; it is never executed."""

import struct
from pathlib import Path

import pytest

from etprof.runner.build import compile_sources
from etprof.runner.isa_header import render_isa_header
from macos_parts import TARGET, macos_compiler, macos_sdk

_MAGIC, _ARM64, _EXECUTABLE, _LOAD_LIBRARY = 0xFEEDFACF, 0x0100000C, 2, 0xC
# What the macOS sources call of the system, each in one of them.
_CALLED = (
    b"_thread_suspend", b"_thread_get_state", b"_thread_resume", b"_task_threads", b"_task_info",
    b"_notify_register_check", b"_sysctlbyname", b"__dyld_image_count",
)  # fmt: skip


def list_libraries(program: bytes) -> list[str]:
    count = struct.unpack_from("<I", program, 16)[0]
    at, found = 32, []
    for _ in range(count):
        kind, size = struct.unpack_from("<II", program, at)
        if kind == _LOAD_LIBRARY:
            name = at + struct.unpack_from("<I", program, at + 8)[0]
            found.append(program[name : program.index(b"\0", name)].decode())
        at += size
    return found


@pytest.mark.exhaustive
def test_the_runner_for_macos_compiles_and_links(tmp_path: Path) -> None:
    compiler = macos_compiler(tmp_path)
    scratch = tmp_path / "build"
    scratch.mkdir()
    built = compile_sources(scratch, macos_sdk(), compiler, TARGET, render_isa_header("arm64"))
    program = built.read_bytes()
    magic, processor, _, kind = struct.unpack_from("<IIII", program)
    assert (magic, processor, kind) == (_MAGIC, _ARM64, _EXECUTABLE)
    linked = {Path(name).name for name in list_libraries(program)}
    assert {"libexecutorch.dylib", "libexecutorch_threadpool.dylib", "libexecutorch_etdump.dylib"} <= linked
    # Opened after features are hidden, so not linked.
    assert "libexecutorch_backend_xnnpack.dylib" not in linked
    for name in _CALLED:
        assert name in program
