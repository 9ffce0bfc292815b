"""Traces of other delegates, written by the wheel's own serialiser and read by its Inspector and by us.

The recorded numbers agree. What they are called does not, on purpose: Inspector shows every number as a time, a stage
beside what it encloses, and a JSON object as a name.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from delegate_traces import (
    MS,
    STAGES,
    a_described_inference,
    a_parallel_inference,
    a_qnn_inference,
    a_vulkan_inference,
)
from etdump_builder import Event, build_etdump
from etprof.analysis.operators.apart import list_allocations, list_apart
from etprof.analysis.operators.operator_statistics import build_operators
from etprof.core.trace import Trace
from etprof.traces.etdump import read_etdump
from parts import need

STARTS = (100 * MS, 200 * MS)
XNNPACK_METADATA = b"xnn_f32_gemm_minmax_ukernel_6x8__asm\x0012"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def wheel() -> None:
    need(find_spec("executorch") and find_spec("torch"), "executorch is not installed")


def write(path: Path, inferences: Sequence[Sequence[Event]], *, allocated: int = 0) -> Path:
    """By the schema and the serialiser in the wheel. It writes no size prefix, which Inspector wants."""
    from executorch.devtools.etdump import schema_flatcc as schema
    from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc

    def describe(event: Event) -> Any:
        profile = schema.ProfileEvent(
            name=None if event.delegated else event.name,
            chain_index=0,
            instruction_id=event.instruction,
            delegate_debug_id_int=-1,
            delegate_debug_id_str=event.name if event.delegated else None,
            delegate_debug_metadata=list(event.metadata or b""),
            start_time=event.start,
            end_time=event.end,
        )
        return schema.Event(profile_event=profile, allocation_event=None, debug_event=None)

    allocation = schema.AllocationEvent(allocator_id=1, allocation_size=allocated)
    taken = [schema.Event(profile_event=None, allocation_event=allocation, debug_event=None)] if allocated else []
    runs = [
        schema.RunData("Execute", -1, [schema.Allocator("method")], [*taken, *map(describe, events)])
        for events in inferences
    ]
    data = serialize_to_etdump_flatcc(schema.ETDumpFlatCC(version=0, run_data=runs))
    path.write_bytes(len(data).to_bytes(4, "little") + data)
    return path


def inspect(path: Path) -> list[Any]:
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    inspector = Inspector(str(path), source_time_scale=TimeScale.NS, target_time_scale=TimeScale.NS)
    return [event for block in inspector.event_blocks for event in block.events]


def assert_same_numbers(trace: Trace, theirs: Sequence[Any], recorded: Sequence[Event]) -> None:
    ours = sorted(trace.duration_ns.tolist())
    assert ours == sorted(int(value) for event in theirs for value in event.perf_data.raw)
    assert {event.name for event in theirs} == {event.name for event in recorded}


Build = Callable[[int], tuple[Event, ...]]
CASES: dict[str, Build] = {
    "vulkan": a_vulkan_inference,
    "vulkan, clock of the GPU": lambda start: a_vulkan_inference(start, clock_offset=-50 * MS),
    "qnn": a_qnn_inference,
    "streams": a_parallel_inference,
    "metadata": lambda start: a_described_inference(start, XNNPACK_METADATA, b"\x05"),
}


@pytest.mark.usefixtures("wheel")
@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_both_read_the_same_numbers(tmp_path: Path, build: Build) -> None:
    inferences = [build(start) for start in STARTS]
    path = write(tmp_path / "built.etdump", inferences)
    trace = read_etdump(path)
    assert_same_numbers(trace, inspect(path), inferences[0])
    (tmp_path / "ours.etdump").write_bytes(build_etdump([("Execute", events) for events in inferences]))
    again = read_etdump(tmp_path / "ours.etdump")
    assert again.kind.tolist() == trace.kind.tolist()
    assert again.notes == trace.notes


@pytest.mark.usefixtures("wheel")
def test_inspector_shows_cycles_as_a_time_and_we_do_not(tmp_path: Path) -> None:
    path = write(tmp_path / "qnn.etdump", [a_qnn_inference(start) for start in STARTS])
    trace = read_etdump(path)
    theirs = {event.name: event.perf_data.avg for event in inspect(path)}
    for row in list_apart([trace]):
        assert (row.mean_ms, row.mean_ticks) == (None, theirs[row.name])
    assert build_operators([trace]) == ()


@pytest.mark.usefixtures("wheel")
def test_inspector_lists_stages_beside_their_shaders_and_we_count_each_time_once(tmp_path: Path) -> None:
    path = write(tmp_path / "vulkan.etdump", [a_vulkan_inference(start) for start in STARTS])
    trace = read_etdump(path)
    theirs = {event.name: event.perf_data.avg for event in inspect(path)}
    call = theirs.pop("DELEGATE_CALL")
    del theirs["Method::execute"]
    assert sum(theirs.values()) > 2 * call
    rows = build_operators([trace])
    assert sum(row.mean_ms for row in rows) * MS <= call
    assert {row.name: row.mean_ms for row in list_apart([trace])} == {
        name: pytest.approx(theirs[name] / MS) for name in (STAGES[1], STAGES[3])
    }
    assert '{"kernel_name": "add", "operator_id": 41, "dispatch_id": 1}' in theirs
    assert "add" in {row.name for row in rows}


@pytest.mark.usefixtures("wheel")
def test_inspector_has_the_same_metadata_as_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "described.etdump", [a_described_inference(s, XNNPACK_METADATA, b"\x05") for s in STARTS])
    theirs = [event for event in inspect(path) if event.name.startswith("Convolution")]
    assert [bytes(event._delegate_debug_metadatas[0]) for event in theirs] == [XNNPACK_METADATA, b"\x05"]
    trace = read_etdump(path)
    assert [trace.metadata.of(row) for row in (0, 1)] == ["xnn_f32_gemm_minmax_ukernel_6x8__asm; 12", "0x05"]


@pytest.mark.usefixtures("wheel")
def test_inspector_refuses_a_trace_with_allocations_and_we_read_it(tmp_path: Path) -> None:
    path = write(tmp_path / "allocating.etdump", [a_parallel_inference(start) for start in STARTS], allocated=64)
    with pytest.raises(ValueError, match="Unable to find populated event"):
        inspect(path)
    (allocations,) = list_allocations([read_etdump(path)])
    assert (allocations.allocator, allocations.bytes_per_inference) == ("method", 64)
