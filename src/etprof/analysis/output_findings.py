"""What a run shows about a model's outputs besides their differences: state, NaNs, and what could not be compared."""

from collections.abc import Callable, Iterator, Sequence

from etprof.analysis.output_differences import list_not_finite, list_not_numbers
from etprof.analysis.program_accuracy import find_accuracy_findings
from etprof.core.findings import Finding, FindingKind
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.report import Comparison
from etprof.core.run import Session
from etprof.core.units import format_count

_DEVELOPS = "Outputs are those of the first inference after loading; times are of many in a row, as state develops."
_RESET = "It is reset before each sequence of the workload, and before phases that ask for it."


def find_output_findings(run: LoadedRun, comparisons: Sequence[Comparison] = ()) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for session in run.sessions:
        own = [loaded for loaded in run.variants if loaded.session is session]
        found += [*_keeps_state(session), *_not_finite(own), *_not_compared(own, session), *_vary(own)]
        found += _not_reset(own)
        found += find_accuracy_findings(own, comparisons)
    return tuple(dict.fromkeys(found))


def _keeps_state(session: Session) -> Iterator[Finding]:
    for record in (each for each in session.programs if each.state):
        model = "The model" if len(session.programs) == 1 else record.program.model.name
        yield Finding(
            FindingKind.KEEPS_STATE,
            f"{model} keeps state between inferences, in {format_count(len(record.state), 'tensor')}: "
            f"{'; '.join(record.state)}.",
            _RESET if record.program.workload else _DEVELOPS,
        )


def _not_reset(variants: list[LoadedVariant]) -> Iterator[Finding]:
    for loaded in variants:
        if any(result.sequences_agree is False for result in loaded.results):
            yield Finding(
                FindingKind.OUTPUTS_VARY,
                f"{loaded.variant.label}: a second sequence in the same process gave other outputs than the first.",
                "The model keeps something that a reset does not reach, or draws random numbers: its sequences are not "
                "repetitions of the same work.",
            )


def _not_finite(variants: list[LoadedVariant]) -> Iterator[Finding]:
    for which, labels in _group(variants, lambda each: list_not_finite(each.outputs or ())):
        yield Finding(
            FindingKind.OUTPUTS_NOT_FINITE,
            f"{labels}: NaN or infinity in {which}.",
            "Equal NaNs do not show that variants agree: use other inputs or weights, or a wider data type.",
        )


def _not_compared(variants: list[LoadedVariant], session: Session) -> Iterator[Finding]:
    compared = {side for pair in session.plan.compared for side in pair}
    sides = [each for each in variants if each.variant in compared]
    for which, labels in _group(sides, lambda each: list_not_numbers(each.outputs or (), each.output_types)):
        yield Finding(FindingKind.OUTPUTS_NOT_COMPARED, f"{labels}: not compared, since not numbers: {which}.", "")


def _vary(variants: list[LoadedVariant]) -> Iterator[Finding]:
    for loaded in variants:
        digests = [tuple(o.sha256 for o in r.outputs) for r in loaded.results if not r.is_stock]
        others = sum(each != digests[0] for each in digests)
        if others:
            yield Finding(
                FindingKind.OUTPUTS_VARY,
                f"{loaded.variant.label}: {others} of {format_count(len(digests), 'block')} gave other outputs than "
                "the first, from the same inputs and a fresh load.",
                "The model draws random numbers, or the order of additions changes between runs; differences between "
                "variants may be no more than that.",
            )


def _group(
    variants: list[LoadedVariant], list_outputs: Callable[[LoadedVariant], tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """The outputs that a rule lists, with the variants they are the same in."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for loaded in variants:
        if which := list_outputs(loaded):
            groups.setdefault(which, []).append(loaded.variant.label)
    for which, labels in groups.items():
        yield ", ".join(which), "; ".join(labels)
