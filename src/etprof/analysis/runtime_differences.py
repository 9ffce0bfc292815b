"""What could not be made equal between two runtimes that are compared: each such difference is a finding."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from etprof.core.findings import Finding, FindingKind
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.plan import Variant
from etprof.core.run import Session
from etprof.core.runtimes import EXECUTORCH, RUNTIMES

_COMPUTE_TOGETHER = (
    "Compare latency, and the categories Convolution and GEMM together: XNNPACK runs 1x1 convolutions as GEMM."
)


def find_runtime_differences(run: LoadedRun) -> tuple[Finding, ...]:
    """Of each comparison between two runtimes."""
    sides = [(run.of(before), run.of(after)) for session in run.sessions for before, after in _list_pairs(session)]
    found = [
        finding
        for before, after in sides
        if before.runtime != after.runtime and before.results and after.results
        for finding in _find_differences(before, after)
    ]
    return tuple(dict.fromkeys(found))


def _list_pairs(session: Session) -> Iterable[tuple[Variant, Variant]]:
    """What a plan compares; builds to choose from are all compared, at the same number of threads."""
    if not session.exploration:
        return session.plan.compared
    pairs = combinations(session.plan.variants, 2)
    precisions = {each.experiment: each.precision for each in session.exploration.candidates}
    return [
        (one, other)
        for one, other in pairs
        if one.threads == other.threads and precisions.get(one.experiment) == precisions.get(other.experiment)
    ]


def _find_differences(before: LoadedVariant, after: LoadedVariant) -> Iterator[Finding]:
    names = " and ".join(each.variant.experiment for each in (before, after))
    titles = " and ".join(RUNTIMES[each.runtime].title for each in (before, after))
    yield _differ(
        f"{names} run with {titles}, which are not loaded alike: ExecuTorch's graph was optimised by the export, the "
        "other's is while it is loaded. Peak memory is that of each process, without the Python interpreter that runs "
        "another runtime, and is only roughly comparable.",
        _COMPUTE_TOGETHER,
    )
    for one, other in ((before, after), (after, before)):
        hidden = one.results[0].features_hidden
        if hidden and not other.results[0].features_hidden:
            yield _differ(
                f"{one.variant.experiment} runs without {', '.join(hidden)}, and {other.variant.experiment} with all "
                f"features of the CPU: {RUNTIMES[other.runtime].title} cannot hide any.",
                "Compare it with an experiment that hides nothing.",
            )
        if one.runtime != EXECUTORCH and all(result.threads_in_force is None for result in one.results):
            title = RUNTIMES[one.runtime].title
            yield _differ(
                f"{one.variant.label}: how many threads {title} used is not known on this system.",
                "The number of the plan was requested.",
            )
    if _cores(before) != _cores(after):
        yield _differ(f"{names} ran on different cores.", "Give both the same cpu_affinity.")
    precisions = [each.record.export_meta.precision if each.record.export_meta else "" for each in (before, after)]
    if precisions[0] != precisions[1]:
        yield _differ(
            f"{names} differ in precision too: {' and '.join(precisions)}.", "Compare the same precision in both."
        )


def _differ(message: str, advice: str) -> Finding:
    return Finding(FindingKind.RUNTIMES_DIFFER, message, advice)


def _cores(loaded: LoadedVariant) -> set[tuple[int, ...]]:
    return {result.cpu_affinity for result in loaded.results}
