"""Tables and sentences about memory and starts: what the peak is made of, and what each stage holds and takes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from etprof.core.memory import (
    LIBRARY_PART,
    MODEL_FILE,
    OTHER_FILES,
    PACKED,
    PACKED_FILE,
    PLANNED,
    RUNNER_DATA,
    RUNTIME,
    STAGES,
    TIMED_STAGES,
    UNATTRIBUTED,
    WORKSPACE,
    ActivationPlan,
    Cached,
    MemoryUse,
)
from etprof.core.report import Report, VariantReport
from etprof.core.units import format_bytes, format_count, format_ms, format_percent
from etprof.reports.text_table import Column, TextTable

_PARTS = (
    MODEL_FILE, PLANNED, PACKED, PACKED_FILE, WORKSPACE, LIBRARY_PART, RUNTIME, RUNNER_DATA, OTHER_FILES, UNATTRIBUTED,
)  # fmt: skip
# A part that is not explained is worth a sentence from here on.
_MUCH = 0.1
# What a narrow terminal shows last, and what every terminal shows.
_LESS_IMPORTANT = (RUNNER_DATA, OTHER_FILES, RUNTIME, LIBRARY_PART, PACKED_FILE, *TIMED_STAGES[:3], "blocks")
_ALWAYS_SHOWN = ("variant", "peak", "model file", "together")
PARTS_EXPLAINED = (
    "Parts of the peak of resident memory, in the block where it was highest. Planned activations are the program's "
    "own plan; packed weights are what grew besides while the method was loaded, the workspace what grew in the first "
    "inference."
)
STAGES_EXPLAINED = (
    "Resident memory (RSS) at the end of each stage, and in brackets the proportional part (PSS), which divides pages "
    "among the processes that share them: medians of blocks. Packing is the fullest moment while the method was loaded."
)
STARTS_EXPLAINED = (
    "From the start of the process to the end of the first inference: medians of blocks. Program and method are the "
    "load time; weights are packed while the method is loaded."
)
PLAN_EXPLAINED = (
    "What the program planned for its tensors, while each operator runs. Inside of a delegate the plan knows only "
    "inputs and outputs: what the delegate computes in between lies in its workspace."
)


class MemoryTable(NamedTuple):
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def list_tables(report: Report) -> Iterator[tuple[MemoryTable, str]]:
    """Each table with the sentence that explains it."""
    known = [(variant, variant.memory) for variant in report.measured if variant.memory]
    for build, explained in (
        (_build_parts, PARTS_EXPLAINED), (_build_stages, STAGES_EXPLAINED), (_build_starts, STARTS_EXPLAINED),
    ):  # fmt: skip
        table = build(known)
        if table.rows:
            yield table, explained


def _build_parts(known: Sequence[tuple[VariantReport, MemoryUse]]) -> MemoryTable:
    divided = [(variant, memory) for variant, memory in known if memory.parts]
    found = {part.name for _, memory in divided for part in memory.parts}
    shown = [name for name in _PARTS if name in found]
    rows = []
    for variant, memory in divided:
        sizes = {part.name: part.bytes for part in memory.parts}
        rows.append((variant.label, format_bytes(memory.peak_bytes), *(format_bytes(sizes.get(n, 0)) for n in shown)))
    return MemoryTable("What the peak memory is made of", ("variant", "peak", *shown), tuple(rows))


def _build_stages(known: Sequence[tuple[VariantReport, MemoryUse]]) -> MemoryTable:
    found = {stage.name for _, memory in known for stage in memory.stages}
    shown = [name for name in STAGES if name in found]
    rows = []
    for variant, memory in known:
        held = {stage.name: _stage_text(stage.rss_bytes, stage.pss_bytes) for stage in memory.stages}
        if held:
            rows.append((variant.label, *(held.get(name, "unknown") for name in shown)))
    return MemoryTable("Resident memory at the end of each stage", ("variant", *shown), tuple(rows))


def _stage_text(rss_bytes: int, pss_bytes: int | None) -> str:
    return format_bytes(rss_bytes) + (f" ({format_bytes(pss_bytes)})" if pss_bytes is not None else "")


def _build_starts(known: Sequence[tuple[VariantReport, MemoryUse]]) -> MemoryTable:
    rows = [
        (
            variant.label,
            start.cached.value,
            *("unknown" if each.duration_ms is None else format_ms(each.duration_ms) for each in start.stages),
            format_ms(start.total_ms),
            str(start.blocks),
        )
        for variant, memory in known
        for start in memory.starts
    ]
    headings = ("variant", "model file", *TIMED_STAGES, "together", "blocks")
    return MemoryTable("Start of a process", headings, tuple(rows))


def list_short_tables(report: Report) -> Iterator[TextTable]:
    """For a terminal: without the stages, which are in the files."""
    for table, explained in list_tables(report):
        if explained is not STAGES_EXPLAINED:
            yield _as_text_table(table)


def _as_text_table(table: MemoryTable) -> TextTable:
    columns = zip(table.headings, zip(*table.rows, strict=True), strict=True)
    return TextTable(
        table.title,
        [
            Column(heading, cells, _find_importance(heading), right=number > 1 or heading == "peak")
            for number, (heading, cells) in enumerate(columns)
        ],
        more="a wider terminal shows all",
    )


def _find_importance(heading: str) -> int:
    return 2 if heading in _LESS_IMPORTANT else 0 if heading in _ALWAYS_SHOWN else 1


def list_sentences(report: Report) -> Iterator[str]:
    """What a reader of the tables has to know."""
    for variant in report.measured:
        memory = variant.memory
        if memory and memory.unattributed > _MUCH:
            share = format_percent(memory.unattributed)
            yield f"{variant.label}: {share} of the peak lies between the moments at which memory was read."
    if not report.times_are_real:
        yield "The memory of an emulated device includes the emulator, so it is not divided into parts."
    stayed = sum(variant.memory.stayed_cached for variant in report.measured if variant.memory)
    kinds = {start.cached for v in report.measured if v.memory for start in v.memory.starts}
    if stayed:
        blocks = format_count(stayed, "block")
        yield f"The model's file could not leave the page cache in {blocks}: it lies in memory, or is in use elsewhere."
    elif kinds == {Cached.UNKNOWN}:
        yield "Whether the model's file was in the page cache is not reported by this system."


def plan_sentence(plan: ActivationPlan) -> str:
    """The peak of a plan in words."""
    buffers = format_count(len(plan.buffers), "buffer")
    text = f"{plan.model}, {plan.method}: {format_bytes(plan.total_bytes)} planned in {buffers}"
    if plan.peak_operator is None:
        return f"{text}."
    name, number = plan.operators[plan.peak_operator], plan.peak_operator + 1
    return (
        f"{text}; most is alive in {name} (operator {number} of {len(plan.operators)}): "
        f"{format_bytes(plan.peak_bytes)}."
    )


def build_plan_table(plan: ActivationPlan) -> MemoryTable:
    """The tensors that are alive at the peak of a plan."""
    rows = tuple((tensor.label, tensor.producer or "unknown", format_bytes(tensor.bytes)) for tensor in plan.tensors)
    return MemoryTable("Tensors of the peak", ("tensor", "first used by", "size"), rows)
