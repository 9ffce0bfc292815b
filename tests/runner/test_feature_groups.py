"""Hiding a feature group from one and the same program: what it says, what it executes, what it takes."""

import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etprof.core.extensions import HIDDEN_TOGETHER as GROUPS
from etprof.runner.build import NativeRunner
from etprof.runner.cpu_features import host_architecture, present_features
from etprof.runner.isa import resolve_hidden
from instruction_sampler import sample_instructions
from parts import need
from runner_block import read_values, run_block, signal_to_noise_db

# They run and time the native runner, which is built in a cache of the tests' own.
pytestmark = pytest.mark.alone

_LEAST_SNR_DB = {"fp32": 90, "fp16": 45, "int8": 20}
_HERE = host_architecture()
_GROUPS_HERE = [g for g in GROUPS.get(_HERE, {}) if set(resolve_hidden(_HERE, (g,))) & set(present_features())]
_SAMPLES = 120

# What only kernels for the group execute.
_MARKS: dict[str, Callable[[str], bool]] = {
    "avx512": lambda instruction: "zmm" in instruction or "{k" in instruction,
    "avx512vnni": lambda instruction: instruction.startswith("vpdp"),
    "avx2": lambda instruction: instruction.startswith("vfmadd"),
    "amx": lambda instruction: "tmm" in instruction,
}


@pytest.mark.parametrize("precision", _LEAST_SNR_DB)
@pytest.mark.parametrize("group", _GROUPS_HERE)
def test_a_hidden_group_is_reported_and_the_outputs_stay_right(
    runner: NativeRunner, models: Path, tmp_path: Path, group: str, precision: str
) -> None:
    block = run_block(runner.command, models / f"{precision}.pte", tmp_path, "--hide_isa", group)
    assert (block.exit_code, block.result["error"]) == (0, "")
    asked = resolve_hidden(_HERE, (group,))
    assert block.result["features_hidden"] == [f for f in block.result["features_seen"] if f in asked]
    assert block.result["features_hidden"] != []
    assert block.result["isa_proof"].endswith("features agree with the operating system")
    expected = read_values(models / f"{precision}.expected_0.bin", block.result["outputs"][0]["dtype"])
    assert signal_to_noise_db(expected, block.output()) > _LEAST_SNR_DB[precision]


@pytest.mark.portable
def test_what_is_seen_is_what_the_system_reports(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    block = run_block(runner.command, models / "fp32.pte", tmp_path)
    assert set(present_features()) <= set(block.result["features_seen"])
    assert block.result["features_hidden"] == []


@pytest.mark.parametrize(
    ("precision", "group"), [("fp32", "avx512"), ("fp32", "avx2"), ("fp16", "avx512"), ("int8", "avx512vnni")]
)
def test_hidden_kernels_are_not_executed(runner: NativeRunner, models: Path, precision: str, group: str) -> None:
    need(sys.platform == "linux" and platform.machine() == "x86_64", "instructions are sampled on x86-64 Linux only")
    need(group in _GROUPS_HERE, f"this CPU has no {group}")
    shown, hidden = (_sample(runner, models / f"{precision}.pte", hide) for hide in ("", group))
    assert sum(map(_MARKS[group], shown)) > _SAMPLES // 10
    assert sum(map(_MARKS[group], hidden)) == 0


@pytest.mark.parametrize(("precision", "group", "least_ratio"), [("fp32", "avx512", 1.3), ("int8", "avx512vnni", 1.15)])
def test_hiding_what_a_model_uses_costs_time(
    runner: NativeRunner, models: Path, tmp_path: Path, precision: str, group: str, least_ratio: float
) -> None:
    need(group in _GROUPS_HERE, f"this CPU has no {group}")
    shown: list[int] = []
    hidden: list[int] = []
    for turn in range(3):
        for hide, times in (("", shown), (group, hidden)):
            flags = ("--warmup", "10", "--num_executions", "60", "--hide_isa", hide)
            block = run_block(runner.command, models / f"{precision}.pte", tmp_path / f"{turn}{hide}", *flags)
            times.append(min(block.result["latency_ns"]))
    assert statistics.median(hidden) > least_ratio * statistics.median(shown)


def test_a_group_this_cpu_lacks_cannot_be_hidden(runner: NativeRunner, models: Path, tmp_path: Path) -> None:
    lacking = [g for g in GROUPS[_HERE] if g not in _GROUPS_HERE]
    need(lacking, "this CPU has every feature there is")
    block = run_block(runner.command, models / "fp32.pte", tmp_path, "--hide_isa", lacking[0])
    assert block.exit_code == 3
    assert block.result["error"] == f"Nothing to hide: this CPU has none of {lacking[0]}."


def _sample(runner: NativeRunner, model: Path, hide: str) -> list[str]:
    command = [*runner.command, "--model_path", str(model), "--cpu_threads", "1", "--hide_isa", hide]
    samples = sample_instructions([*command, "--num_executions", "10000000"], "libexecutorch_backend_xnnpack", _SAMPLES)
    assert len(samples) == _SAMPLES
    return samples
