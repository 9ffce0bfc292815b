"""Lays samples over a trace: which kernels each operator executed, and what that proves about an extension."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from etprof.analysis.kernels.executed_code import classes_of_name
from etprof.analysis.kernels.missing_kernels import Expected, explain
from etprof.analysis.kernels.sample_counts import Counts, OperatorCounts, count_samples
from etprof.analysis.kernels.share_interval import estimate_share
from etprof.core.categories import COMPUTE, categorize
from etprof.core.data_types import find_data_type
from etprof.core.estimates import Interval
from etprof.core.extensions import Extension, find_extension
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels
from etprof.core.loaded_run import SampledBlock
from etprof.core.plan import Variant
from etprof.core.rows import KernelUse
from etprof.core.units import format_percent

# Fewer than one sample in ten inside its kernels, at the upper end of the interval: the extension did not do the work.
_AT_MOST = 0.10
# At the lower end: more than a sample or two that belong to the operator before or after.
_AT_LEAST = 0.05
_PACKED = re.compile(r"\b(PF16|PF32|PQS8|QP8)\b")


def build_evidence(
    variant: Variant,
    blocks: Sequence[SampledBlock],
    *,
    seen: Collection[str] = (),
    hidden: Collection[str] = (),
    elsewhere: Iterable[Collection[str]] = (),
    expected: Expected | None = None,
    times_are_real: bool = True,
) -> KernelEvidence:
    """The evidence of all sampled blocks of a variant, with reasons from what was `expected` of its operators.

    `elsewhere` has the features that each other variant of the run hid: a variant that hides none is evidence of these.
    Samples stand for time only where times are real; under emulation they are counted and no more.
    """
    first = blocks[0].samples
    extension, shown = find_extension(first.architecture, seen, hidden, elsewhere)
    counts = count_samples(blocks, extension.classes)
    label = name_executed(extension, counts.function_class)
    operators = tuple(
        _describe(own, counts, extension, expected or Expected(), shown=bool(shown))
        for own in counts.operators.values()
    )
    compute = [row for row in operators if row.category in COMPUTE]
    hits = sum(counts.operators[row.identity].hits for row in compute)
    share = estimate_share(hits, sum(row.samples for row in compute))
    return KernelEvidence(
        experiment=variant.experiment,
        threads=variant.threads,
        extension=label,
        shown=shown,
        advertised=extension.is_among(seen),
        compiled_in=_compiled_in(first.kernel_names, extension),
        samples=counts.samples,
        waiting=counts.waiting,
        outside=counts.outside,
        stray=counts.stray,
        dropped=sum(samples.dropped for samples, _ in blocks),
        overruns=sum(samples.overruns for samples, _ in blocks),
        sampled_threads=len(first.threads),
        operators=operators,
        share=share,
        verdict=write_verdict(label, compute, share, "time" if times_are_real else "samples"),
    )


def write_verdict(label: str, compute: Sequence[OperatorKernels], share: Interval | None, of: str) -> str:
    """The whole answer in one line; `of` is what samples stand for."""
    samples = sum(row.samples for row in compute)
    executed = sum(row.executed is Executed.YES for row in compute)
    open_ones = sum(row.executed in (Executed.UNCLEAR, Executed.UNSEEN) for row in compute)
    kinds = "/".join(COMPUTE)
    if not compute:
        return f"{label} executed: not applicable, this model has no {kinds} operators."
    if share is None:
        return f"{label} executed: unknown, no sample fell into the {len(compute)} {kinds} operators."
    bounds = f"{format_percent(share.low)} to {format_percent(share.high)}"
    interval = f"95 % interval {bounds} of {samples:,} samples"
    also = f"; too few samples in {open_ones} operator{'s' if open_ones != 1 else ''}" if open_ones else ""
    if executed:
        return (
            f"{label} executed: yes, in {executed} of {len(compute)} {kinds} operators, "
            f"{format_percent(share.value)} of their {of} ({interval}{also})."
        )
    if share.high > _AT_MOST:
        return (
            f"{label} executed: not seen, but {samples:,} samples in {len(compute)} {kinds} operators are too few "
            "to rule it out."
        )
    return f"{label} executed: no, in none of {len(compute)} {kinds} operators ({interval}{also})."


def name_executed(extension: Extension, function_class: Mapping[str, str]) -> str:
    """The extension's name, which is SME where every kernel that executed was written for SME and none for SME2."""
    kernels = [name for name, own in function_class.items() if own == "SME"]
    if not kernels or any("sme2" in name or not classes_of_name(name) for name in kernels):
        return extension.label
    return extension.label.replace("SME2", "SME")


def _describe(
    own: OperatorCounts, counts: Counts, extension: Extension, expected: Expected, *, shown: bool
) -> OperatorKernels:
    share = estimate_share(own.hits, own.samples)
    packed = _PACKED.search(own.name)
    row = OperatorKernels(
        identity=own.identity,
        name=own.name,
        category=categorize(own.name).name,
        data_type=find_data_type(own.name),
        delegated=own.delegated,
        selected=packed[1] if packed else "",
        samples=own.samples,
        waiting=own.waiting,
        kernels=tuple(KernelUse(f, counts.function_class[f], n) for f, n in own.functions.most_common()),
        instructions=dict(own.instructions.most_common()),
        share=share,
        executed=judge_share(share),
    )
    wants_reason = shown and row.executed in (Executed.NO, Executed.UNCLEAR) and row.category in COMPUTE
    return replace(row, reason=explain(row, extension, expected)) if wants_reason else row


def judge_share(share: Interval | None) -> Executed:
    if share is None:
        return Executed.UNSEEN
    if share.low >= _AT_LEAST:
        return Executed.YES
    return Executed.NO if share.high <= _AT_MOST else Executed.UNCLEAR


def _compiled_in(names: Sequence[str], extension: Extension) -> tuple[str, ...] | None:
    """Kernels of the extension by name; None where the libraries name no kernels at all."""
    if not names:
        return None
    return tuple(name for name in names if set(classes_of_name(name)) & set(extension.classes))
