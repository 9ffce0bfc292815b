"""What a bundle of a release contains that others wrote: versions, source packages and the texts of their licences."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from etprof.core.errors import DependencyError

ROOT = Path(__file__).resolve().parents[1]
PAGE = "CONTENTS.md"
_COMMON = Path("/usr/share/common-licenses")
_IN_EXECUTORCH = "inside ExecuTorch's libraries"
# Debian's cross packages have a source package of their own and name the real one as what they were built from.
_SOURCE_OF = {"libc6": r"glibc", "libstdc++6": r"gcc-\d+", "libgcc-s1": r"gcc-\d+"}
_OPENING = """\
# What is in this bundle

`bin/etprof_runner` is etprof's own program, under the Apache License, Version 2.0. Everything in `lib` was written by
others and is unchanged. The texts of their licences are in `licences`. Source packages are those of Debian, whose
archive of snapshots keeps every version.

| Part | Files | Version | Source | Licence | Text |
| --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Part:
    """`texts` are the licences by the names they have in the bundle."""

    name: str
    files: str
    version: str
    source: str
    licence: str
    texts: Mapping[str, bytes]


# Inside ExecuTorch's libraries: name, licence, which package or system has its text, and its place in the sources.
_VENDORED = (
    ("XNNPACK", "BSD-3-Clause", "torch:third_party/XNNPACK/LICENSE", "backends/xnnpack/third-party/XNNPACK"),
    ("cpuinfo", "BSD-2-Clause", "torch:third_party/cpuinfo/LICENSE", "backends/xnnpack/third-party/cpuinfo"),
    (
        "pthreadpool",
        "BSD-2-Clause",
        "torch:third_party/pthreadpool/LICENSE",
        "backends/xnnpack/third-party/pthreadpool",
    ),
    ("FXdiv", "MIT", "torch:third_party/FXdiv/LICENSE", "backends/xnnpack/third-party/FXdiv"),
    ("FP16", "MIT", "torch:third_party/FP16/LICENSE", "backends/xnnpack/third-party/FP16"),
    ("FlatBuffers", "Apache-2.0", "common:Apache-2.0", "third-party/flatbuffers"),
    ("FlatCC", "Apache-2.0", "common:Apache-2.0", "third-party/flatcc"),
    ("PocketFFT", "BSD-3-Clause", "numpy:numpy/fft/pocketfft/LICENSE.md", "third-party/pocketfft"),
    ("Eigen", "MPL-2.0", "common:MPL-2.0", "kernels/optimized/third-party/eigen"),
)


def list_parts(architecture: str, c_libraries: Mapping[str, Path], version: str, commit: str) -> list[Part]:
    """All that a bundle contains beside our own program; `version` and `commit` are ExecuTorch's."""
    return [*_list_runtime(architecture, version, commit), *_list_system(c_libraries)]


def build_files(parts: Iterable[Part]) -> dict[str, bytes]:
    """What is packed with the bundle: a page with a table, our licence, and the texts."""
    listed = list(parts)
    rows = [
        f"| {p.name} | {p.files} | {p.version} | {p.source} | {p.licence} | {', '.join(sorted(p.texts))} |"
        for p in listed
    ]
    texts = {f"licences/{name}": text for part in listed for name, text in part.texts.items()}
    ours = {"licences/etprof.txt": (ROOT / "LICENSE").read_bytes()}
    return {PAGE: (_OPENING + "\n".join(rows) + "\n").encode(), **ours, **texts}


def _list_runtime(architecture: str, version: str, commit: str) -> Iterator[Part]:
    texts = _find_text("ExecuTorch", "executorch:LICENSE")
    yield Part(
        "ExecuTorch", "libexecutorch*.so", version, f"commit {commit} of pytorch/executorch", "BSD-3-Clause",
        texts,
    )  # fmt: skip
    pinned = f"the one that ExecuTorch {version} pins"
    for name, licence, place, folder in _VENDORED:
        yield Part(name, _IN_EXECUTORCH, pinned, f"`{folder}` at that commit", licence, _find_text(name, place))
    if architecture == "arm64":
        source = "`cmake/DownloadKleidiAI.cmake` of that XNNPACK names its commit of ARM-software/kleidiai"
        texts = _find_text("KleidiAI", "common:Apache-2.0")
        yield Part("KleidiAI", _IN_EXECUTORCH, "the one that XNNPACK pins", source, "Apache-2.0", texts)


def _find_text(name: str, place: str) -> dict[str, bytes]:
    """A text from this system's common licences, or from what an installed package says about its licences."""
    package, _, path = place.partition(":")
    if package == "common":
        return {f"{path}.txt": _read(_COMMON / path)}
    root = Path(str(distribution(package).locate_file("")))
    found = sorted(root.glob(f"{package}-*.dist-info/licenses/{path}"))
    return {f"{name}.txt": _read(found[0] if found else root / path)}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DependencyError(
            f"The text of a licence is missing: {path}.", hint="Releases are made on Debian, with torch installed."
        ) from error


def _list_system(libraries: Mapping[str, Path]) -> Iterator[Part]:
    """The C and C++ libraries, by the Debian package that each file belongs to."""
    files: dict[str, list[str]] = {}
    for name, path in libraries.items():
        files.setdefault(_package_of(path), []).append(name)
    for package, names in sorted(files.items()):
        binary = package.partition(":")[0]
        kind = next((kind for kind in _SOURCE_OF if binary.startswith(kind)), None)
        if kind is None:
            raise DependencyError(f"The Debian package {package} is not known to be part of a bundle.")
        own, version, built_using = _ask_dpkg(package, "${source:Package}\\n${source:Version}\\n${Built-Using}")
        candidates = {own: version, **dict(re.findall(r"(\S+) \(= (\S+?)\)", built_using))}
        source = next(name for name in candidates if re.fullmatch(_SOURCE_OF[kind], name))
        (binary_version,) = _ask_dpkg(package, "${Version}")
        licence = "LGPL-2.1-or-later" if kind == "libc6" else "GPL-3.0-or-later with GCC's runtime library exception"
        yield Part(
            "GNU C library" if kind == "libc6" else "libstdc++" if kind == "libstdc++6" else "libgcc",
            ", ".join(sorted(names)), f"{binary} {binary_version}", f"Debian {source} {candidates[source]}", licence,
            _list_copyright(binary),
        )  # fmt: skip


def _list_copyright(package: str) -> dict[str, bytes]:
    """Debian's file on a package, and the licences that it refers to."""
    text = _read(Path("/usr/share/doc") / package / "copyright")
    named = set(re.findall(rb"common-licenses/((?:L?GPL)(?:-[\d.]*\d)?)", text))
    common = {f"{name}.txt": _read(_COMMON / name) for name in sorted(n.decode() for n in named)}
    return {f"{package}.copyright.txt": text, **common}


def _package_of(library: Path) -> str:
    """Debian knows some files by their place before /lib became a link to /usr/lib."""
    for path in (library, Path("/") / library.relative_to("/usr") if library.is_relative_to("/usr") else library):
        done = subprocess.run(["dpkg-query", "--search", str(path)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.partition(": ")[0]
    raise DependencyError(f"No Debian package has {library}.", hint="Releases are made on Debian.")


def _ask_dpkg(package: str, fields: str) -> list[str]:
    command = ["dpkg-query", "--show", f"--showformat={fields}", package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
