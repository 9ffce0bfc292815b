"""The self-test on this machine, and each of its checks failing by a planted fault."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adbd import SERIAL
from builders import a_device_info
from etprof.analysis.self_checks import NAMES, judge_device
from etprof.app import self_test
from etprof.app.devices import open_device, parse_device
from etprof.app.reference_models import FP32, INT8, choose_reference
from etprof.app.self_test import run_blocks, run_self_test, write_self_test
from etprof.core.extensions import ARM64, EXTENSIONS, X86_64
from etprof.core.run import CpuState, CpuTime
from etprof.core.samples import KernelSamples
from etprof.core.self_test import Outcome, SelfCheck, TriedDevice
from etprof.devices.local import LocalDevice
from etprof.runner.toolchain import compiler_path
from parts import need
from sshd import HOST

# They measure.
pytestmark = pytest.mark.alone

Fault = Callable[[TriedDevice], TriedDevice]


def ignore(_: str) -> None:
    pass


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> TriedDevice:
    """The real blocks of this machine."""
    need(compiler_path(), "there is no C++ compiler")
    request = replace(parse_device("local"), runner="native")
    with open_device(request) as opened:
        found = run_blocks(opened.device, request, tmp_path_factory.mktemp("blocks"), ignore)
    need(found.extension, "this CPU has no extension that can be hidden")
    return found


def by_name(tested: TriedDevice) -> dict[str, SelfCheck]:
    return {check.name: check for check in judge_device(tested)}


def test_nothing_fails_on_this_machine(tested: TriedDevice) -> None:
    checks = by_name(tested)
    assert tuple(checks) == NAMES
    failed = [f"{check.name}: {check.found}" for check in checks.values() if check.outcome is Outcome.FAIL]
    assert not failed
    assert all(check.found for check in checks.values())
    for name in ("model", "outputs", "feature table", "hiding", "trace", "sampling", "executed kernels", "latency"):
        assert checks[name].outcome is Outcome.PASS, checks[name].found


def shown(**changes: Any) -> Fault:
    return lambda tested: replace(tested, shown=replace(tested.shown, **changes))


def said(**changes: Any) -> Fault:
    return lambda tested: replace(tested, shown=replace(tested.shown, result=replace(tested.shown.result, **changes)))


def hidden(**changes: Any) -> Fault:
    def plant(tested: TriedDevice) -> TriedDevice:
        assert tested.hidden is not None
        return replace(tested, hidden=replace(tested.hidden, **changes))

    return plant


def sampled(change: Callable[[KernelSamples], KernelSamples]) -> Fault:
    def plant(tested: TriedDevice) -> TriedDevice:
        assert tested.shown.samples is not None
        return shown(samples=change(tested.shown.samples))(tested)

    return plant


def told(**changes: Any) -> Fault:
    return lambda tested: replace(tested, info=replace(tested.info, **changes))


def both(*faults: Fault) -> Fault:
    def plant(tested: TriedDevice) -> TriedDevice:
        for fault in faults:
            tested = fault(tested)
        return tested

    return plant


def nothing_hidden(tested: TriedDevice) -> TriedDevice:
    assert tested.hidden is not None
    return hidden(result=replace(tested.hidden.result, features_hidden=()))(tested)


def shown_runs_hidden_code(tested: TriedDevice) -> TriedDevice:
    assert tested.hidden is not None
    return shown(samples=tested.hidden.samples, trace=tested.hidden.trace)(tested)


def hidden_runs_shown_code(tested: TriedDevice) -> TriedDevice:
    return hidden(samples=tested.shown.samples, trace=tested.shown.trace)(tested)


def without_code(samples: KernelSamples) -> KernelSamples:
    return replace(samples, locations=tuple(replace(place, code=b"") for place in samples.locations))


def of_first(count: int) -> Callable[[KernelSamples], KernelSamples]:
    return lambda samples: replace(
        samples,
        time_ns=samples.time_ns[:count], location=samples.location[:count], thread=samples.thread[:count],
    )  # fmt: skip


def python_fails(tested: TriedDevice) -> TriedDevice:
    assert tested.python is not None
    return replace(tested, python=replace(tested.python, problem="exit code 1"))


WRONG, MAC = (np.arange(16.0),), "Darwin 25.1.0"
ON_MAC = told(system=MAC, clusters=())
FAULTS: dict[str, list[tuple[Fault, str]]] = {
    "model": [(shown(problem="killed by signal 4"), "killed by signal 4")],
    "outputs": [(shown(outputs=WRONG), "differ from those"), (shown(outputs=(np.zeros(3),)), "other shapes")],
    "feature table": [
        (said(features_seen=()), "could not prove"),
        (lambda tested: replace(tested, reported=(*tested.reported, "sme9")), "reports sme9"),
    ],
    "hiding": [
        (hidden(problem="Refusing to hide avx512"), "Refusing"),
        (nothing_hidden, "should be hidden"),
        (hidden(outputs=WRONG), "differ from those"),
    ],
    "trace": [(shown(trace=None), "No inference was traced"), (said(traced_ns=(1,)), "and 1 were run")],
    "sampling": [
        (shown(samples=None), "No samples"),
        (sampled(of_first(20)), "Only (1?\\d|20) samples"),
        (sampled(lambda s: replace(s, time_ns=s.time_ns + 10**12)), "disagree about the time"),
        (said(threads_in_force=64), "and 64 compute"),
    ],
    "kernel names": [
        (shown(samples=None), "No samples"),
        (sampled(without_code), "do not show the machine code"),
        (both(sampled(lambda s: replace(s, kernel_names=())), told(architecture=ARM64)), "name no kernel"),
    ],
    "executed kernels": [(shown_runs_hidden_code, "No operator executed")],
    "hidden kernels": [(hidden_runs_shown_code, "hidden and executed all the same")],
    "latency": [(said(latency_ns=(0, 0)), "clock is wrong"), (shown(duration_s=0.0), "clock is wrong")],
    "CPU time": [(said(cpu_time=None), "missing"), (said(cpu_time=CpuTime(10, 10**9)), "not possible")],
    "memory": [(said(peak_bytes=None), "does not know"), (said(peak_bytes=100), "less than the model")],
    "cores": [(ON_MAC, "did not say how many performance")],
    "thermal state": [(both(ON_MAC, said(cpu_after=CpuState())), "thermal pressure")],
    "Python runner": [(python_fails, "exit code 1")],
}


def test_there_is_a_fault_for_every_check() -> None:
    assert tuple(FAULTS) == NAMES


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, faults in FAULTS.items() for number in range(len(faults))]
)
def test_a_planted_fault_fails_its_check_with_a_hint(tested: TriedDevice, name: str, number: int) -> None:
    plant, words = FAULTS[name][number]
    if name == "Python runner":
        need(tested.python, tested.no_python)
    check = by_name(plant(tested))[name]
    assert check.outcome is Outcome.FAIL, check.found
    assert re.search(words, check.found), check.found
    assert check.hint


def test_a_block_that_fails_fails_one_check_and_the_others_say_why_not(tested: TriedDevice) -> None:
    checks = by_name(both(shown(problem="killed by signal 4"), hidden(problem="killed by signal 4"))(tested))
    assert checks["outputs"].outcome is Outcome.NOT_HERE
    assert checks["outputs"].found == "the reference model does not run"
    assert checks["hidden kernels"].outcome is Outcome.NOT_HERE
    assert {name for name, check in checks.items() if check.outcome is Outcome.FAIL} == {"model", "hiding"}


def test_what_a_machine_cannot_have_is_not_here(tested: TriedDevice) -> None:
    bare = replace(tested, extension=None, hidden=None, python=None, no_python="torch is not installed")
    bare = both(told(times_are_real=False, system="Linux 6"), said(cpu_after=CpuState()))(bare)
    checks = by_name(bare)
    absent = {name: check.found for name, check in checks.items() if check.outcome is Outcome.NOT_HERE}
    assert absent == {
        "hiding": "this CPU has no extension that can be hidden",
        "hidden kernels": "this CPU has no extension that can be hidden",
        "latency": "times under emulation are not meaningful",
        "CPU time": "times under emulation are not meaningful",
        "thermal state": "this system reports neither temperature nor throttling",
        "Python runner": "torch is not installed",
    }


def test_without_torch_and_compiler_the_report_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "installed_version", lambda _: None)
    monkeypatch.setenv("CXX", "no-such-compiler")
    found = run_self_test(parse_device("local"))
    checks = {check.name: check for check in found.checks}
    assert checks["export"].outcome is Outcome.NOT_HERE
    assert (checks["runner"].outcome, found.passed) == (Outcome.FAIL, False)
    assert "no-such-compiler" in checks["runner"].found
    assert "Install g++" in checks["runner"].hint
    assert {checks[name].outcome for name in NAMES} == {Outcome.NOT_HERE}
    report = write_self_test(found, tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| runner | fail |" in report


def test_the_words_of_a_runner_that_fails_are_in_the_report(tmp_path: Path) -> None:
    runner = ["/bin/sh", "-c", "echo 'Library not loaded: @rpath/libexecutorch.dylib' >&2; exit 6"]
    device = LocalDevice(lambda _: runner, a_device_info(features=("avx2",)))
    found = run_blocks(device, parse_device("emulated"), tmp_path, ignore)
    check = by_name(found)["model"]
    assert check.outcome is Outcome.FAIL
    assert "exit code 6" in check.found
    assert "Library not loaded" in check.found


def test_the_model_is_one_that_can_execute_the_extension() -> None:
    chosen = {extension.label: choose_reference(extension) for extension in EXTENSIONS[ARM64]}
    assert (chosen["SME2"], chosen["i8mm and dot product"], chosen["dot product"]) == (FP32, INT8, INT8)
    assert {choose_reference(extension) for extension in (*EXTENSIONS[X86_64], None)} == {FP32}


@pytest.mark.exhaustive
def test_the_whole_self_test_passes_here() -> None:
    found = run_self_test(parse_device("local"))
    assert found.passed, [check for check in found.checks if check.outcome is Outcome.FAIL]
    assert (found.checks[-1].name, found.checks[-1].outcome) == ("export", Outcome.PASS)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("cpu", "extension"), [("max", "SME2"), ("max,sme=off", "i8mm and dot product")], ids=["with SME2", "without SME"]
)
def test_an_emulated_arm_cpu_passes_with_its_own_extension(
    emulator: str, cpu: str, extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "installed_version", lambda _: None)
    other = tmp_path / "qemu-aarch64"
    other.write_text(
        f'#!/bin/sh\nif [ "$1" = -cpu ]; then shift 2; set -- -cpu {cpu} "$@"; fi\nexec "{emulator}" "$@"\n',
        encoding="utf-8",
    )
    other.chmod(0o755)
    found = run_self_test(replace(parse_device("emulated"), emulator=str(other)))
    assert found.passed, [check for check in found.checks if check.outcome is Outcome.FAIL]
    executed = next(check for check in found.checks if check.name == "executed kernels")
    assert executed.found.startswith(f"{extension} executed: yes")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("device", "daemon", "cpu"),
    [("ssh", "sshd", ""), ("ssh", "sshd", "emulated"), ("android", "adbd", "emulated")],
    ids=["this CPU over ssh", "SME2 over ssh", "SME2 over adb"],
)
def test_a_device_elsewhere_passes_and_is_left_as_it_was(
    request: pytest.FixtureRequest, emulator: str, device_folder: Path, device: str, daemon: str, cpu: str
) -> None:
    request.getfixturevalue(daemon)
    place = {"ssh": HOST, "android": SERIAL}[device]
    wanted = replace(parse_device(f"{device}:{place}"), folder=str(device_folder), emulator=emulator if cpu else "")
    found = run_self_test(wanted)
    assert found.passed, [check for check in found.checks if check.outcome is Outcome.FAIL]
    checks = {check.name: check for check in found.checks}
    assert (checks["latency"].outcome is Outcome.NOT_HERE) is bool(cpu)
    assert not cpu or checks["executed kernels"].found.startswith("SME2 executed: yes")
    assert checks["Python runner"].found == "it runs on this machine only"
    assert list(device_folder.iterdir()) == []
