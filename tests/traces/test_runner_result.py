"""A runner's result file, read or refused."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etprof.core.errors import TraceError
from etprof.core.run import CpuTime, OutputTensor, ThreadTime
from etprof.traces.runner_result import read_output_values, read_runner_result

GOOD: dict[str, Any] = {
    "schema_version": 2, "runner": "native", "executorch_version": "1.5.1", "error": "", "threads": 1,
    "features_seen": ["sme2"], "features_hidden": ["sme2"], "load_ns": 5, "warmup_ns": [9, 3], "warmup_steady": True,
    "latency_ns": [3, 3], "traced_ns": [4], "peak_bytes": 1024, "outputs": [], "cpu_after": None,
    "cpu_before": {"frequencies_khz": {"4": 1800000}, "load_average": 0.5, "temperature_c": None},
    "cpu_time": {"wall_ns": 7, "cpu_ns": 6, "threads": [
        {"ran_ns": 5, "waited_ns": 1, "core_before": 4, "core_after": 4},
        {"ran_ns": 1, "waited_ns": None, "core_before": None, "core_after": None},
    ]},
    "more": "is ignored",
}  # fmt: skip


def write(folder: Path, value: Any) -> Path:
    path = folder / "on_t1.result.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_every_fact_the_runner_tells_is_kept(tmp_path: Path) -> None:
    said = read_runner_result(write(tmp_path, GOOD))
    assert said.latency_ns == (3, 3)
    assert said.warmup_ns == (9, 3)
    assert said.features_hidden == ("sme2",)
    assert said.cpu_before.frequencies_khz == {4: 1800000}
    assert said.cpu_time == CpuTime(7, 6, (ThreadTime(5, 1, 4, 4), ThreadTime(1)))
    assert said.cpu_after.load_average is None, "what is not told is not zero"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "not a runner's result"),
        ([], "not a runner's result"),
        ({k: v for k, v in GOOD.items() if k != "latency_ns"}, "latency_ns"),
        ({**GOOD, "latency_ns": ["fast"]}, "latency_ns.0"),
        ({**GOOD, "schema_version": 1}, "has version 1"),
    ],
)
def test_anything_else_is_refused_by_name(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        read_runner_result(write(tmp_path, value))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="left no result file"):
        read_runner_result(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("dtype", "data", "values"),
    [
        ("float32", struct.pack("<2f", 1.5, -2.0), [1.5, -2.0]),
        ("float16", struct.pack("<2e", 1.5, -2.0), [1.5, -2.0]),
        ("bfloat16", struct.pack("<2H", 0x3FC0, 0xC000), [1.5, -2.0]),
        ("int64", struct.pack("<q", 7), [7.0]),
        ("bool", b"\x01\x00", [1.0, 0.0]),
        ("uint16", struct.pack("<2H", 7, 65535), [7.0, 65535.0]),
    ],
)
def test_output_tensors_are_read_as_numbers(tmp_path: Path, dtype: str, data: bytes, values: list[float]) -> None:
    (tmp_path / "output_0.bin").write_bytes(data)
    (read,) = read_output_values(tmp_path, [OutputTensor(dtype, (len(values),), "", "output_0.bin")])
    assert read is not None
    assert np.array_equal(read, values)


@pytest.mark.parametrize(("dtype", "file"), [("none", ""), ("string", "output_0.bin"), ("float8_e5m2", "output_0.bin")])
def test_what_is_no_number_is_not_read_and_breaks_nothing(tmp_path: Path, dtype: str, file: str) -> None:
    (tmp_path / "output_0.bin").write_bytes(b"words")
    assert read_output_values(tmp_path, [OutputTensor(dtype, (), "", file)]) == (None,)


def test_an_output_file_of_the_wrong_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "output_0.bin").write_bytes(b"odd")
    with pytest.raises(TraceError, match="does not hold float32"):
        read_output_values(tmp_path, [OutputTensor("float32", (1,), "", "output_0.bin")])
