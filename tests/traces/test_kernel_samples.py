"""The native runner's samples: read as written, and refused in one sentence when they are not whole."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etprof.core.errors import TraceError
from etprof.traces.kernel_samples import read_kernel_samples
from sample_builder import LIBC, NEON, SME, place, samples, write_samples

pytestmark = pytest.mark.portable

SOME = samples([(10, place(SME, "kai_sme2")), (20, place(NEON)), (30, place(SME, "kai_sme2"))], kernel_names=("kai_a",))


def test_samples_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = read_kernel_samples(write_samples(tmp_path / "a.kernels", SOME))
    for name in ("architecture", "threads", "libraries", "kernel_names", "locations", "dropped", "main_thread"):
        assert getattr(found, name) == getattr(SOME, name)
    assert (found.time_ns.tolist(), found.location.tolist()) == ([10, 20, 30], [0, 1, 0])


def test_no_samples_at_all_can_be_read(tmp_path: Path) -> None:
    assert len(read_kernel_samples(write_samples(tmp_path / "a.kernels", samples([])))) == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema_version": 9}, "version 9"),
        ({"format": "something"}, "'something'"),
        ({"samples": 4}, "cut off"),
        ({"locations": [[0, 1, 1, "", "00", 0]]}, "not in its table"),
        ({"locations": [[7, 1, 1, "", "00", 0], [0, 1, 1, "", "00", 0]]}, "no library number 7"),
        ({"locations": [[0, 1, 1, "", "xy", 0], [0, 1, 1, "", "00", 0]]}, "not machine code"),
        ({"threads": []}, "not in its table"),
        ({"dropped": -1}, "dropped"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = write_samples(tmp_path / "a.kernels", SOME, **changes)
    with pytest.raises(TraceError, match=said) as caught:
        read_kernel_samples(path)
    assert "a.kernels" in caught.value.message
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_kernel_samples(tmp_path / "none.kernels")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 2000), st.integers(0, 40))
def test_a_damaged_byte_is_an_error_or_harmless_never_a_crash(
    tmp_path: Path, junk: bytes, at: int, length: int
) -> None:
    path = write_samples(tmp_path / "fuzz.kernels", SOME)
    data = path.read_bytes()
    at %= len(data)
    path.write_bytes(data[:at] + junk + data[at + length :])
    try:
        found = read_kernel_samples(path)
    except TraceError:
        return
    assert np.all(found.location < len(found.locations)) or not len(found)


def test_a_library_beside_ours_keeps_its_name(tmp_path: Path) -> None:
    found = read_kernel_samples(write_samples(tmp_path / "a.kernels", samples([(1, place(NEON, library=LIBC))])))
    assert found.libraries[found.locations[0].library] == LIBC
