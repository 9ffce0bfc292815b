"""The runner's reader of Mach-O files, compiled for this machine: names of functions, whatever the bytes are."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings

from etprof.runner.build import SOURCES
from etprof.runner.cross import resolve_parts
from etprof.runner.toolchain import compiler_path
from fuzzed import EXAMPLES, damage
from mach_o_builder import (
    ADD,
    ARM64,
    ARM64E,
    CODE_AT,
    CODE_BYTES,
    DEBUG,
    LOCAL,
    RETURN,
    UNDEFINED,
    UUID,
    X86_64,
    Symbol,
    build_library,
    build_universal,
)
from macos_parts import macos_sdk
from parts import need

# For each file named on a line of its input one line: the images with their functions, and what lies at their edges.
_MAIN = """
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include "mach_o.h"
int main() {
  for (std::string path; std::getline(std::cin, path);) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // Of exactly its size, so that a read beyond its end is found.
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    std::string line;
    for (const etprof::MachImage& image : etprof::read_mach_o(bytes.data(), bytes.size())) {
      line += (line.empty() ? "" : ",") + std::string("{\\"uuid\\":\\"") + image.uuid + "\\",\\"functions\\":[";
      for (const etprof::MachFunction& each : image.functions) {
        std::string name = each.name;
        std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '?');
        const bool found = image.find(each.start) == &each && image.find(each.end - 1) == &each;
        line += (&each == image.functions.data() ? "[" : ",[") + std::to_string(each.start) + "," +
                std::to_string(each.end) + ",\\"" + name + "\\"," + (found ? "true" : "false") + "]";
      }
      const auto before = image.functions.empty() ? 0 : image.functions.front().start;
      const auto after = image.functions.empty() ? 0 : image.functions.back().end;
      line += std::string("],\\"outside\\":") +
              (image.find(after) == nullptr && (before == 0 || image.find(before - 1) == nullptr) ? "true}" : "false}");
    }
    std::printf("[%s]\\n", line.c_str());
    std::fflush(stdout);
  }
}
"""
_SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Image:
    uuid: str
    names: dict[int, str]
    ends: dict[int, int]


@dataclass(frozen=True)
class Reader:
    """The compiled program; it answers one file after the other."""

    process: "subprocess.Popen[str]"
    scratch: Path

    def read(self, content: bytes) -> list[Image]:
        self.scratch.write_bytes(content)
        return self.read_file(self.scratch)

    def read_file(self, path: Path) -> list[Image]:
        asked, told = self._pipes()
        asked.write(f"{path}\n")
        asked.flush()
        line = told.readline()
        assert line, f"the reader crashed on {path.read_bytes()[:4000].hex()}"
        images = json.loads(line)
        assert all(image["outside"] and all(found for *_, found in image["functions"]) for image in images)
        return [
            Image(
                image["uuid"],
                {start: name for start, _, name, _ in image["functions"]},
                {start: end for start, end, *_ in image["functions"]},
            )
            for image in images
        ]

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("mach_o")
    (folder / "main.cpp").write_text(_MAIN, encoding="utf-8")
    compiler = compiler_path()
    need(compiler, "there is no C++ compiler")
    sources = [str(folder / "main.cpp"), str(SOURCES / "mach_o.cpp")]
    command = [str(compiler), "-std=c++17", *_SANITIZED, f"-I{SOURCES}", *sources, "-o", str(folder / "program")]
    subprocess.run(command, timeout=120, check=True)
    with subprocess.Popen([folder / "program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Reader(process, folder / "library.dylib")
        process.kill()


KERNEL, OTHER, LABEL = CODE_AT, CODE_AT + 0x100, CODE_AT + 0x40
SYMBOLS = (
    Symbol("_kai_run_matmul_sme2_mopa", KERNEL),
    Symbol("_label_inside", LABEL, LOCAL),
    Symbol("_xnn_f32_gemm_ukernel", OTHER, LOCAL),
)
STARTS = (KERNEL, OTHER, CODE_AT + 0x200)


def test_functions_have_their_names_without_the_underscore_of_c(reader: Reader) -> None:
    (image,) = reader.read(build_library(SYMBOLS, STARTS))
    assert image.uuid == UUID.hex()
    assert image.names == {KERNEL: "kai_run_matmul_sme2_mopa", OTHER: "xnn_f32_gemm_ukernel", CODE_AT + 0x200: ""}


def test_a_function_without_a_name_is_not_given_that_of_the_one_before(reader: Reader) -> None:
    (image,) = reader.read(build_library(SYMBOLS, STARTS))
    assert (image.names[CODE_AT + 0x200], image.ends[OTHER]) == ("", CODE_AT + 0x200)
    assert image.ends[CODE_AT + 0x200] == CODE_AT + CODE_BYTES


def test_without_a_list_of_functions_every_symbol_begins_one(reader: Reader) -> None:
    (image,) = reader.read(build_library(SYMBOLS))
    assert list(image.names) == [KERNEL, LABEL, OTHER]
    assert image.ends == {KERNEL: LABEL, LABEL: OTHER, OTHER: CODE_AT + CODE_BYTES}


def test_the_pieces_between_labels_of_an_assembly_kernel_belong_to_it_up_to_its_return(reader: Reader) -> None:
    symbols = (Symbol("_kai_kernel_matmul_sme2_mopa", CODE_AT), Symbol("_kai_run_matmul", CODE_AT + 0x80))
    pieces = (CODE_AT, CODE_AT + 0x10, CODE_AT + 0x20, CODE_AT + 0x40, CODE_AT + 0x80, CODE_AT + 0x90)
    loop = ADD * 15 + RETURN
    (image,) = reader.read(build_library(symbols, pieces, code=loop + ADD * 64))
    assert image.ends[CODE_AT] == CODE_AT + 0x40
    assert list(image.names.values()) == ["kai_kernel_matmul_sme2_mopa", "", "kai_run_matmul", ""]
    assert list(image.names) == [CODE_AT, CODE_AT + 0x40, CODE_AT + 0x80, CODE_AT + 0x90]


def test_offsets_are_from_where_the_image_begins(reader: Reader) -> None:
    (image,) = reader.read(build_library(SYMBOLS, STARTS, base=0x100000000))
    assert list(image.names) == list(STARTS)


def test_only_symbols_of_code_count(reader: Reader) -> None:
    symbols = (
        Symbol("_data", CODE_AT + CODE_BYTES), Symbol("_source_file", KERNEL, DEBUG), Symbol("_imported", 0, UNDEFINED),
        Symbol("ltmp0", KERNEL, LOCAL), Symbol("_local", OTHER, LOCAL), Symbol("_exported", OTHER),
    )  # fmt: skip
    (image,) = reader.read(build_library(symbols, (KERNEL, OTHER)))
    assert image.names == {KERNEL: "", OTHER: "exported"}


@pytest.mark.parametrize("wide", [False, True])
def test_of_a_universal_file_the_images_for_arm64_are_read(reader: Reader, wide: bool) -> None:
    plain = build_library(SYMBOLS, STARTS)
    signed = build_library(SYMBOLS, STARTS, uuid=bytes(16), subtype=ARM64E)
    other = build_library(SYMBOLS, STARTS, processor=X86_64)
    images = reader.read(build_universal((X86_64, other), (ARM64, plain), (ARM64, signed), wide=wide))
    assert [image.uuid for image in images] == [UUID.hex(), bytes(16).hex()]
    assert images[0].names == images[1].names


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF" + bytes(100), build_library(SYMBOLS, STARTS)[:60], b"\xca\xfe\xba\xbe"]
)
def test_what_is_no_library_for_arm64_has_no_images(reader: Reader, content: bytes) -> None:
    assert reader.read(content) == []


@pytest.mark.parametrize("valid", [build_library(SYMBOLS, STARTS), build_universal((ARM64, build_library(SYMBOLS)))])
def test_any_bytes_are_read_without_leaving_them(reader: Reader, valid: bytes) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(damage(valid))
    def check(content: bytes) -> None:
        reader.read(content)

    check()


@pytest.mark.exhaustive
def test_the_libraries_of_the_macos_wheel_name_their_kernels(reader: Reader) -> None:
    folder = macos_sdk().prefix / "lib"
    for library in sorted(folder.glob("libexecutorch*.dylib")):
        (image,) = reader.read_file(library)
        assert len(image.uuid) == 32
        assert len(image.names) > 10, library.name


@pytest.mark.exhaustive
@pytest.mark.usefixtures("own_cache")
def test_kernels_are_as_long_in_the_macos_wheel_as_in_the_one_for_linux(reader: Reader) -> None:
    (image,) = reader.read_file(macos_sdk().prefix / "lib" / "libexecutorch_backend_xnnpack.dylib")
    other, _, _ = resolve_parts("linux-arm64", None, None, lambda _: None)
    lengths = read_lengths(other.prefix / "lib" / "libexecutorch_backend_xnnpack.so")
    found = {name: image.ends[start] - start for start, name in image.names.items() if name.startswith("kai_kernel_")}
    assert len(found) > 30
    assert set(found) == set(lengths)
    # Assembly is the same in both; functions may be followed by padding.
    assert all(lengths[name] <= length < lengths[name] + 16 for name, length in found.items())


def read_lengths(library: Path) -> dict[str, int]:
    """Of KleidiAI's assembly kernels, in bytes, from the symbol table of an ELF library."""
    command = ["readelf", "--wide", "--dyn-syms", str(library)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {row[7]: int(row[2]) for row in rows if len(row) == 8 and row[7].startswith("kai_kernel_")}
