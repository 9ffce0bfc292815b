"""Frequency, load and temperature of this machine, read from files that some systems do not have."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from etprof.runner.build import SOURCES
from etprof.runner.cpu_state import read_affinity, read_cpu_state, read_governor
from etprof.runner.thermal_header import render_thermal_header
from etprof.runner.toolchain import compiler_path
from parts import need
from system_files import PHONE_CORES, a_phone, write_files

# Both runners' readers, each with a folder that stands for the root of the file system.
Reader = Callable[[list[int], Path], dict[str, Any]]

_MAIN = """
#include <cstdio>
#include <cstdlib>
#include "cpu_state.h"
int main(int argc, char** argv) {
  std::vector<int> cores;
  for (int i = 2; i < argc; ++i) cores.push_back(std::atoi(argv[i]));
  const etprof::CpuState state = etprof::read_cpu_state(cores, argv[1]);
  std::printf("{\\"frequencies_khz\\": {");
  for (const auto& [core, khz] : state.frequencies_khz)
    std::printf("%s\\"%d\\": %lld", core == state.frequencies_khz.begin()->first ? "" : ",", core, (long long)khz);
  std::printf("}, \\"temperature_c\\": ");
  state.temperature_c ? std::printf("%.3f}", *state.temperature_c) : std::printf("null}");
}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("cpu_state")
    (folder / "main.cpp").write_text(_MAIN, encoding="utf-8")
    (folder / "thermal_table.h").write_text(render_thermal_header(), encoding="utf-8")
    compiler = compiler_path()
    need(compiler, "there is no C++ compiler")
    sources = [str(folder / "main.cpp"), str(SOURCES / "cpu_state.cpp")]
    command = [str(compiler), "-std=c++17", f"-I{SOURCES}", f"-I{folder}", *sources, "-o", str(folder / "program")]
    subprocess.run(command, timeout=60, check=True)

    def read(cores: list[int], root: Path) -> dict[str, Any]:
        command = [str(folder / "program"), str(root), *map(str, cores)]
        said: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, timeout=30, check=True).stdout)
        return said | {"frequencies_khz": {int(core): khz for core, khz in said["frequencies_khz"].items()}}

    return read


def read_in_python(cores: list[int], root: Path) -> dict[str, Any]:
    return asdict(read_cpu_state(cores, root))


@pytest.fixture(params=["python", "native"])
def read(request: pytest.FixtureRequest) -> Reader:
    found: Reader = read_in_python if request.param == "python" else request.getfixturevalue("native")
    return found


def test_frequencies_have_the_numbers_of_their_cores_and_an_offline_core_shifts_none(
    read: Reader, tmp_path: Path
) -> None:
    state = read(list(range(8)), a_phone(tmp_path))
    assert state["frequencies_khz"] == PHONE_CORES
    assert 5 not in state["frequencies_khz"]


def test_only_the_cores_that_the_threads_may_use_are_read(read: Reader, tmp_path: Path) -> None:
    assert read([4, 5, 6, 7], a_phone(tmp_path))["frequencies_khz"] == {4: 2_496_000, 6: 2_496_000, 7: 3_187_200}


def test_the_temperature_is_that_of_the_hottest_believable_cpu_zone(read: Reader, tmp_path: Path) -> None:
    assert read([0], a_phone(tmp_path))["temperature_c"] == 57.6


def test_what_the_system_does_not_have_stays_unknown(read: Reader, tmp_path: Path) -> None:
    state = read([0, 1], tmp_path)
    assert (state["frequencies_khz"], state["temperature_c"]) == ({}, None)


def test_a_file_that_holds_no_number_is_left_out(read: Reader, tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "<unknown>",
            "sys/class/thermal/thermal_zone0/type": "cpu-thermal",
            "sys/class/thermal/thermal_zone0/temp": "nonsense",
        },
    )
    (tmp_path / "sys/class/thermal/thermal_zone1/temp").mkdir(parents=True)
    state = read([0], tmp_path)
    assert (state["frequencies_khz"], state["temperature_c"]) == ({}, None)


def test_the_load_is_the_systems() -> None:
    load = read_cpu_state([]).load_average
    assert load is not None
    assert abs(load - os.getloadavg()[0]) < 1


def test_the_governor_is_that_of_the_first_core(tmp_path: Path) -> None:
    assert read_governor(tmp_path) == ""
    assert read_governor(a_phone(tmp_path)) == "schedutil"


def test_the_cores_of_this_process_are_those_it_may_use() -> None:
    need(hasattr(os, "sched_setaffinity"), "core affinity is Linux's")
    allowed = os.sched_getaffinity(0)
    assert read_affinity() == sorted(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert read_affinity() == [min(allowed)]
    finally:
        os.sched_setaffinity(0, allowed)
