"""The same numbers as ExecuTorch's own Inspector, operator by operator, on every recorded trace."""

from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etprof.traces.etdump import read_etdump
from parts import need

TRACES = sorted((Path(__file__).parents[1] / "data" / "traces").glob("*.etdump"))


@pytest.fixture(scope="module")
def inspector_class() -> Any:
    need(find_spec("executorch") and find_spec("torch"), "executorch is not installed")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel's own imports warn
        from executorch.devtools import Inspector
        from executorch.devtools.inspector import TimeScale
    return lambda path: Inspector(etdump_path=str(path), source_time_scale=TimeScale.NS, target_time_scale=TimeScale.NS)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_durations_are_those_of_inspector_to_the_last_digit(path: Path, inspector_class: Any) -> None:
    theirs: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    averages: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for block in inspector_class(path).event_blocks:
        for event in block.events:
            key = (block.name, event.name, event._instruction_id)
            theirs[key] += [int(value) for value in event.perf_data.raw]
            averages[key].append(event.perf_data.avg)
    ours: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    trace = read_etdump(path)
    for row in range(len(trace)):
        key = (trace.block_names[trace.block[row]], trace.names[trace.name[row]], int(trace.instruction[row]))
        ours[key].append(int(trace.duration_ns[row]))
    assert {key: sorted(values) for key, values in ours.items()} == {k: sorted(v) for k, v in theirs.items()}
    single = [key for key, values in averages.items() if len(values) == 1]
    assert single
    for key in single:
        assert np.mean(ours[key]) == pytest.approx(averages[key][0], rel=1e-14)
