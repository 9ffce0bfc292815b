"""The runner's own SHA-256 against the one of Python."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from etprof.runner.build import SOURCES
from etprof.runner.toolchain import compiler_path
from parts import need

_MAIN = """
#include <cstdio>
#include <iterator>
#include <iostream>
#include "sha256.h"
int main() {
  const std::string data{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  std::puts(etprof::sha256_hex(data.data(), data.size()).c_str());
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sha256")
    (folder / "main.cpp").write_text(_MAIN, encoding="utf-8")
    compiler = compiler_path()
    need(compiler, "there is no C++ compiler")
    sources = [str(folder / "main.cpp"), str(SOURCES / "sha256.cpp")]
    command = [str(compiler), "-std=c++17", f"-I{SOURCES}", *sources, "-o", str(folder / "sha256")]
    subprocess.run(command, timeout=60, check=True)
    return folder / "sha256"


@pytest.mark.parametrize("size", [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 1_000_003])
def test_digest_is_right_around_every_padding_edge(program: Path, size: int) -> None:
    data = bytes(i * 7 % 251 for i in range(size))
    done = subprocess.run([program], input=data, capture_output=True, timeout=30, check=True)
    assert done.stdout.decode().strip() == hashlib.sha256(data).hexdigest()
