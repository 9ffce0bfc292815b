"""The emulator: found where it is, refused where it is too old, and asked what its CPU can do."""

import subprocess
from pathlib import Path

import pytest

from builders import a_device_info
from device_builder import a_qemu
from etprof.app.device_parts import RunnerParts
from etprof.core.errors import DependencyError, DeviceError
from etprof.devices.emulator import (
    CPU_OPTIONS,
    SME_VECTOR_BITS,
    Emulator,
    as_emulated,
    find_emulator,
    parse_auxiliary_vector,
    parse_version,
)


def test_the_newest_of_those_found_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = a_qemu(tmp_path / "bin", "7.2.1"), a_qemu(tmp_path / "kept", "11.1.0")
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    assert find_emulator(new.parent).path == str(new)


def test_one_that_is_too_old_is_refused_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{a_qemu(tmp_path / 'bin', '7.2.1').parent}:/usr/bin:/bin")
    with pytest.raises(DependencyError, match=r"QEMU 7\.2, which does not emulate SME2") as raised:
        find_emulator(tmp_path / "nothing")
    assert "scripts/get_emulator" in raised.value.hint


def test_where_there_is_none_the_message_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match="There is no qemu-aarch64"):
        find_emulator(tmp_path)
    with pytest.raises(DependencyError, match="There is no /no/such/qemu"):
        find_emulator(tmp_path, "/no/such/qemu")


def test_what_the_emulator_shows_takes_the_place_of_the_hosts_own_cpu() -> None:
    diagnostics = "auxv[0x0].a_type=0x10\nauxv[0x1].a_type=0x1a auxv[0x1].a_val=0x2000800000\n"
    host = a_device_info(name="ssh:board", cpu_model="A CPU")
    info = as_emulated(host, Emulator("qemu", (11, 1)), diagnostics, RunnerParts().read_features)
    assert (info.name, info.architecture, info.cpu_count) == ("ssh:board", "arm64", host.cpu_count)
    assert info.cpu_model == "QEMU 11.1, CPU max, on A CPU"
    assert (info.features, info.sme_vector_bits, info.times_are_real) == (("sme", "sme2"), SME_VECTOR_BITS, False)


def test_what_is_no_qemu_has_no_version() -> None:
    assert parse_version("something else entirely") == (0, 0)


def test_an_answer_without_facts_is_refused() -> None:
    with pytest.raises(DeviceError, match="did not report the features of its CPU"):
        parse_auxiliary_vector("qemu: error while loading\n")


def test_the_vector_length_is_the_one_reported(emulator: str, tmp_path: Path) -> None:
    source, program = tmp_path / "length.c", tmp_path / "length"
    source.write_text(
        '#include <stdio.h>\n#include <sys/prctl.h>\nint main(void) { printf("%d", prctl(64, 0, 0, 0, 0) & 0xffff); }\n'
    )
    subprocess.run(["aarch64-linux-gnu-gcc", "-static", "-o", program, source], check=True, timeout=60)
    said = subprocess.run([emulator, *CPU_OPTIONS, program], capture_output=True, text=True, timeout=60).stdout
    assert int(said) * 8 == SME_VECTOR_BITS
