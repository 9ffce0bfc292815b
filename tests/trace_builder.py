"""Traces for tests: written event by event and read back, or recorded by a real runtime."""

from collections.abc import Sequence
from pathlib import Path

from etdump_builder import Block, Event, build_etdump
from etprof.core.graph import ModelGraph
from etprof.core.trace import Trace
from etprof.export.graph_file import load_graph
from etprof.traces.etdump import read_etdump

DATA = Path(__file__).parent / "data"
RECORDED = {path.stem: path for path in sorted((DATA / "traces").glob("*.etdump"))}
# Those of the recorded traces whose model left its graph.
WITH_GRAPH = tuple(name for name, path in RECORDED.items() if path.with_suffix(".graph.json").exists())

# Name and microseconds of operators that run one after the other.
Operators = Sequence[tuple[str, int]]
# What no operator owns: the end of each delegate call, and of the inference.
CALL_OVERHEAD_NS, FRAMEWORK_OVERHEAD_NS = 3_000, 2_000


def recorded(name: str) -> Trace:
    return read_etdump(RECORDED[name])


def recorded_graph(name: str) -> ModelGraph:
    return load_graph(RECORDED[name].with_suffix(".graph.json"))


def read_blocks(folder: Path, *blocks: Block, size_prefix: bool = True) -> Trace:
    path = folder / "built.etdump"
    path.write_bytes(build_etdump(blocks, size_prefix=size_prefix))
    return read_etdump(path)


def read_inferences(folder: Path, *inferences: Sequence[Event], setup: Sequence[Event] = ()) -> Trace:
    """A trace of these inferences; `setup` comes before the first."""
    blocks: list[Block] = [("Default", setup)] if setup else []
    return read_blocks(folder, *blocks, *(("Execute", events) for events in inferences))


def an_inference(*calls: Operators, start_us: int = 0, portable: Operators = ()) -> tuple[Event, ...]:
    """Delegate calls with their operators, then portable operators, with fixed overheads."""
    begin = at = start_us * 1000
    events: list[Event] = []
    for instruction, operators in enumerate(calls):
        call_start = at
        for name, us in operators:
            events.append(Event(name, at, at + us * 1000, instruction, delegated=True))
            at += us * 1000
        at += CALL_OVERHEAD_NS
        events.append(Event("DELEGATE_CALL", call_start, at, instruction))
    for instruction, (name, us) in enumerate(portable, len(calls)):
        events.append(Event(name, at, at + us * 1000, instruction))
        events.append(Event("OPERATOR_CALL", at, at + us * 1000, instruction))
        at += us * 1000
    events.append(Event("Method::execute", begin, at + FRAMEWORK_OVERHEAD_NS))
    return tuple(events)


def a_call(*names: str) -> Operators:
    """A delegate call whose operators take a microsecond each."""
    return [(name, 1) for name in names]
