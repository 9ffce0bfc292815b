"""The times of steps are read with their run, and refused where they are those of another."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import a_plan, a_result, a_session
from etprof.app.runs import load_run
from etprof.core.errors import TraceError
from etprof.core.plan import Variant
from etprof.store.session_file import save_session
from etprof.traces.steps_file import MAGIC
from workload_builder import a_workload


def save_run(folder: Path, times: NDArray[np.int64]) -> None:
    """A run of one block, whose five sequences have three steps each."""
    plan = replace(a_plan(folder, blocks=1), workload=a_workload(1, 2))
    result = a_result("on", etdump="", log="", steps="on/on_t1.steps")
    model = plan.model
    model.parent.mkdir(parents=True, exist_ok=True)
    model.write_bytes(b"model")
    (folder / "on").mkdir(parents=True)
    header = MAGIC + np.array(times.shape, "<i8").tobytes()
    (folder / "on/on_t1.steps").write_bytes(header + times.astype("<i8").tobytes())
    save_session(folder, a_session(plan, (result,)))


def test_the_times_of_steps_are_read_with_their_run(tmp_path: Path) -> None:
    times = np.arange(15).reshape(5, 3)
    save_run(tmp_path / "run", times)
    loaded = load_run(tmp_path / "run").of(Variant("on", 1))
    assert loaded.steps[0].tolist() == times.tolist()


@pytest.mark.parametrize("shape", [(5, 4), (4, 3), (3, 5)])
def test_those_of_another_run_are_refused(shape: tuple[int, int], tmp_path: Path) -> None:
    save_run(tmp_path / "run", np.ones(shape, np.int64))
    sequences, steps = shape
    with pytest.raises(TraceError, match=rf"has {sequences} sequences of {steps} steps; on_t1, block 1 has 5 of 3\."):
        load_run(tmp_path / "run")
