"""Where the samples of a variant are that were not in kernels of the extension, and why: every sample in one place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etprof.core.categories import COMPUTE
from etprof.core.extensions import classes_of_label
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels, group_by_reason
from etprof.core.units import format_count, format_percent

# Places with a smaller part are left to the table.
_WORTH_A_WORD = 0.02
_UNKNOWN = "not known: nothing is predicted of them on this CPU"


@dataclass(frozen=True)
class Place:
    """Samples with something in common; `brief` is for a sentence, `why` says why the extension is not in them."""

    title: str
    brief: str
    samples: int
    why: str


def list_places(evidence: KernelEvidence) -> list[Place]:
    """First those in kernels of the extension. Without samples there are none."""
    rows, name = evidence.operators, evidence.extension
    compute = [row for row in rows if row.category in COMPUTE]
    without = [row for row in compute if row.executed is not Executed.YES]
    kinds = "/".join(COMPUTE)
    places = [
        Place(f"{name} kernels", "", sum(map(_hits, rows)), ""),
        Place(
            f"Other code of {kinds} operators that executed {name}",
            f"other code of {kinds} (functions without it)",
            sum(row.samples - _hits(row) for row in compute if row.executed is Executed.YES),
            _tell_functions([row for row in compute if row.executed is Executed.YES], evidence),
        ),
        *_places_without(without, name),
        *_places_of_others([row for row in rows if row.category not in COMPUTE], evidence),
        Place(
            "Outside of operators",
            "outside of operators (runtime, tracer)",
            evidence.outside,
            "calls, the runtime and the tracer",
        ),
    ]
    return [place for place in places if place.samples]


def evidence_sentence(evidence: KernelEvidence) -> str:
    """The verdict, and where the extension was shown the places of the samples."""
    return f"{evidence.verdict} {places_sentence(evidence)}".strip() if evidence.shown else evidence.verdict


def places_sentence(evidence: KernelEvidence) -> str:
    """Where many samples are that are in no kernel of the extension; empty where none is in one."""
    places = list_places(evidence)
    if not places or places[0].title != f"{evidence.extension} kernels":
        return ""
    parts = [
        f"{format_percent(place.samples / evidence.samples)} {place.brief}"
        for place in sorted(places[1:], key=lambda place: -place.samples)
        if place.samples >= _WORTH_A_WORD * evidence.samples
    ]
    part = format_percent(places[0].samples / evidence.samples)
    return f"Of all samples {part}; elsewhere: {', '.join(parts)}." if parts else ""


def _places_without(rows: Sequence[OperatorKernels], name: str) -> Iterator[Place]:
    """Operators that could have executed it and did not, or of which that is not known."""
    kinds = "/".join(COMPUTE)
    unclear = [row for row in rows if row.executed is not Executed.NO]
    for group in group_by_reason([row for row in rows if row.executed is Executed.NO]):
        count = format_count(len(group), f"{kinds} operator")
        yield Place(
            f"{count} without {name}", f"{count} without it", sum(map(_rest, group)), group[0].reason or _UNKNOWN
        )
    if unclear:
        count = format_count(len(unclear), f"{kinds} operator")
        yield Place(f"{count} with too few samples", f"{count} with too few", sum(map(_rest, unclear)), "not known")


def _places_of_others(rows: Sequence[OperatorKernels], evidence: KernelEvidence) -> Iterator[Place]:
    delegated = [row for row in rows if row.delegated]
    portable = [row for row in rows if not row.delegated]
    yield Place(
        f"Other code of {format_count(len(delegated), 'other delegated operator')}",
        "other delegated operators (functions without it)",
        sum(map(_rest, delegated)),
        _tell_functions(delegated, evidence),
    )
    yield Place(
        format_count(len(portable), "portable operator"),
        "portable operators (no such kernels)",
        sum(map(_rest, portable)),
        f"portable operators have no {evidence.extension} kernels; copies by the C library count here",
    )


def _tell_functions(rows: Sequence[OperatorKernels], evidence: KernelEvidence) -> str:
    """Which function without the extension has most samples, of how many, and in which operator."""
    classes = classes_of_label(evidence.extension)
    others = [(use, row) for row in rows for use in row.kernels if use.instruction_class not in classes]
    if not others:
        return f"functions without {evidence.extension} instructions"
    samples: dict[tuple[str, str], int] = {}
    for use, _ in others:
        samples[use.name, use.instruction_class] = samples.get((use.name, use.instruction_class), 0) + use.samples
    (name, instruction_class), most = max(samples.items(), key=lambda item: item[1])
    where = max((row for use, row in others if use.name == name), key=lambda row: row.samples)
    return (
        f"functions without {evidence.extension} instructions; most samples, {most}: {name or 'unnamed'} "
        f"({instruction_class}), as in {where.name} [{where.identity}]"
    )


def _hits(row: OperatorKernels) -> int:
    return round(row.share.value * row.samples) if row.share else 0


def _rest(row: OperatorKernels) -> int:
    return row.samples - _hits(row)
