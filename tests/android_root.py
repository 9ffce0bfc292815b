"""A root with the layout of Android, for arm64: its debug daemon, shell and tools, and nothing of Debian's layout."""

import shutil
from pathlib import Path

from foreign_roots import enter, find_root

_LIBRARIES = "usr/lib/aarch64-linux-gnu"
_DEBIANS_LOADER, _LOADER = b"/lib/ld-linux-aarch64.so.1\0", b"/system/lib/ld.so.1\0"
# What etprof's scripts call; on a phone, too, each is a link to toybox.
_TOOLS = (
    "cat", "chmod", "df", "env", "find", "flock", "getconf", "grep", "head", "id", "kill", "ls", "mkdir", "mv", "nice",
    "od", "printf", "pwd", "readlink", "rm", "rmdir", "setsid", "sha256sum", "sleep", "tar", "taskset", "timeout",
    "true", "uname",
)  # fmt: skip
# The root cannot be written to, nor can anything on /sdcard be executed.
_MOUNTS = """
mount --rbind "$root" "$root"
mount -t tmpfs tmpfs "$root/data" && mkdir -p "$root/data/local/tmp"
mount -t tmpfs -o noexec tmpfs "$root/sdcard"
mount -o remount,bind,ro "$root"
"""


def build_android_root(folder: Path) -> Path:
    """Made of the packages adbd, mksh and toybox."""
    packages = find_root("android")
    for name in ("system/bin", "system/lib", "system/etc", "data", "sdcard", "proc", "dev", "sys"):
        (folder / name).mkdir(parents=True)
    (folder / "bin").symlink_to("/system/bin")
    (folder / "etc").symlink_to("/system/etc")
    (folder / "system/etc/passwd").write_text("root:x:0:0::/:/system/bin/sh\n")
    for library in packages.glob(f"{_LIBRARIES}/**/*.so*"):
        if "gconv" not in library.parts:
            shutil.copy(library, folder / "system/lib" / library.name)
    shutil.copy(packages / _LIBRARIES / "ld-linux-aarch64.so.1", folder / "system/lib/ld.so.1")
    tools = folder / "system/bin"
    # Android's shell; this build of it needs no library.
    shutil.copy(packages / "usr/lib/aarch64-linux-musl/bin/mksh", tools / "sh")
    _copy_with_loader(packages / "usr/bin/toybox", tools / "toybox")
    _copy_with_loader(packages / "usr/lib/android-sdk/platform-tools/adbd", tools / "adbd")
    for name in _TOOLS:
        (tools / name).symlink_to("toybox")
    return folder


def start_adbd(root: Path, emulator: str) -> list[str]:
    """The command of the daemon in that root."""
    settings = "export PATH=/system/bin LD_LIBRARY_PATH=/system/lib HOME=/; cd /"
    return enter(root, "/system/bin/sh", "-c", f"{settings}; exec adbd", emulator=emulator, mounts=_MOUNTS)


def _copy_with_loader(program: Path, target: Path) -> None:
    """The program, which looks for its loader where this root has it."""
    content = program.read_bytes()
    assert content.count(_DEBIANS_LOADER) == 1
    target.write_bytes(content.replace(_DEBIANS_LOADER, _LOADER.ljust(len(_DEBIANS_LOADER), b"\0")))
    target.chmod(0o755)
