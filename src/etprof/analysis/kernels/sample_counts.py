"""Counts samples by operator, function and instruction class, over all sampled blocks of a variant."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.kernels.executed_code import ExecutedCode, describe_code
from etprof.analysis.kernels.instructions import pack_classes
from etprof.analysis.kernels.sample_attribution import NOWHERE, attribute_samples
from etprof.core.inferences import number_runs
from etprof.core.loaded_run import SampledBlock
from etprof.core.operators import OperatorId
from etprof.core.trace import EventKind, Trace


@dataclass
class OperatorCounts:
    """`hits` are samples in functions of the extension, in ExecuTorch's own libraries."""

    identity: OperatorId
    name: str
    delegated: bool
    waiting: int = 0
    hits: int = 0
    functions: Counter[str] = field(default_factory=Counter)
    instructions: Counter[str] = field(default_factory=Counter)

    @property
    def samples(self) -> int:
        return self.functions.total()


@dataclass
class Counts:
    """`stray` are samples in functions of the extension in ExecuTorch's libraries, in whichever operator or in none."""

    operators: dict[OperatorId, OperatorCounts] = field(default_factory=dict)
    function_class: dict[str, str] = field(default_factory=dict)
    samples: int = 0
    waiting: int = 0
    outside: int = 0
    stray: int = 0


def count_samples(blocks: Sequence[SampledBlock], extension: Sequence[str]) -> Counts:
    """Blocks are processes of one program: the same operator or function of several of them counts as one."""
    codes = _agree_on_classes([describe_code(samples) for samples, _ in blocks])
    counts = Counts()
    kinds = number_runs([block.trace for block in blocks])
    for block, code, kind_of_run in zip(blocks, codes, kinds, strict=True):
        _add_block(counts, block, code, extension, kind_of_run)
    return counts


def _agree_on_classes(codes: Sequence[ExecutedCode]) -> list[ExecutedCode]:
    """One block may have sampled only a function's loop counters, and another its vector instructions."""
    met: dict[str, int] = {}
    for code in codes:
        for name, uses in zip(code.names, code.function_uses.tolist(), strict=True):
            met[name] = met.get(name, 0) | uses
    return [replace(code, function_uses=np.array([met[n] for n in code.names], np.int16)) for code in codes]


def _add_block(
    counts: Counts,
    block: SampledBlock,
    code: ExecutedCode,
    extension: Sequence[str],
    kind_of_run: Mapping[int, int | None],
) -> None:
    samples, trace = block
    attribution = attribute_samples(trace, samples.time_ns)
    waits = code.waits[samples.location]
    outside = attribution.operator == NOWHERE
    counts.samples += int((~waits).sum())
    counts.waiting += int(waits.sum())
    counts.outside += int((outside & ~waits).sum())
    counts.function_class |= {n: code.classes[c] for n, c in zip(code.names, code.function_class, strict=True)}
    is_hit = code.is_ours & code.uses_any(pack_classes(samples.architecture, extension))[code.function]
    counts.stray += int(is_hit[samples.location].sum())
    rows = [_operator(counts, trace, row, kind_of_run[int(trace.run[row])]) for row in attribution.rows.tolist()]
    _add_operators(rows, samples.location, code, attribution.operator, is_hit)


def _add_operators(
    rows: Sequence[OperatorCounts],
    location: NDArray[np.uint32],
    code: ExecutedCode,
    operator: NDArray[np.int64],
    is_hit: NDArray[np.bool_],
) -> None:
    inside, waits = operator != NOWHERE, code.waits[location]
    waiting = np.bincount(operator[inside & waits], minlength=len(rows))
    operator, location = operator[inside & ~waits], location[inside & ~waits]
    hits = np.bincount(operator[is_hit[location]], minlength=len(rows))
    for own, waited, hit in zip(rows, waiting.tolist(), hits.tolist(), strict=True):
        own.waiting += waited
        own.hits += hit
    for i, function, count in _pairs(operator, code.function[location]):
        rows[i].functions[code.names[function]] += count
    for i, kind, count in _pairs(operator, code.instruction[location].astype(np.int64)):
        rows[i].instructions[code.classes[kind]] += count


def _pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Every pair that occurs, with how often it does."""
    if not len(left):
        return []
    width = int(right.max()) + 1
    keys, counts = np.unique(left * width + right, return_counts=True)
    return [(key // width, key % width, count) for key, count in zip(keys.tolist(), counts.tolist(), strict=True)]


def _operator(counts: Counts, trace: Trace, row: int, kind: int | None) -> OperatorCounts:
    identity = trace.identity(row, kind)
    if identity not in counts.operators:
        name = trace.names[trace.name[row]]
        delegated = bool(trace.kind[row] == EventKind.DELEGATED_OPERATOR)
        counts.operators[identity] = OperatorCounts(identity, name, delegated)
    return counts.operators[identity]
