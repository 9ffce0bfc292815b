"""Who is compared with whom: the pairs a plan names, once each can be compared, or those that follow by themselves."""

from etprof.core.errors import PlanError, nearest_names_hint
from etprof.core.plan import Experiment, Pair, list_compared


def settle_pairs(asked: tuple[Pair, ...], experiments: tuple[Experiment, ...], source: str) -> tuple[Pair, ...]:
    """The pairs asked for; with none, each experiment that hides features against the one that hides nothing.

    Two experiments that hide the same, each at one thread count of its own, are a pair too: more against fewer threads.
    """
    if asked:
        for index, pair in enumerate(asked):
            _refuse_incomparable(pair, experiments, f"{source}: analysis.compare_pairs[{index}]")
        return asked
    if len(experiments) == 2 and experiments[0].hide_isa == experiments[1].hide_isa:
        fewer, more = sorted(experiments, key=lambda e: e.threads)
        differ = len(fewer.threads) == len(more.threads) == 1 and fewer.threads != more.threads
        return (Pair(fewer.name, more.name),) if differ else ()
    shown = [e.name for e in experiments if not e.hide_isa]
    hiding = [e.name for e in experiments if e.hide_isa]
    return tuple(Pair(name, shown[0]) for name in hiding) if len(shown) == 1 else ()


def _refuse_incomparable(pair: Pair, experiments: tuple[Experiment, ...], where: str) -> None:
    """What could not be compared after the run is said before it."""
    before = _find_side("baseline", pair.baseline, pair.baseline_threads, experiments, where)
    after = _find_side("candidate", pair.candidate, pair.candidate_threads, experiments, where)
    compared = list_compared(pair, before, after)
    if not compared:
        raise PlanError(
            f"{where}: {pair.baseline} and {pair.candidate} have no thread count in common.",
            hint="Name one of each: baseline_threads and candidate_threads.",
        )
    if any(one == other for one, other in compared):
        raise PlanError(
            f"{where} compares {pair.candidate} with itself.",
            hint="Name another experiment, or different baseline_threads and candidate_threads.",
        )
    if before.mode != after.mode:
        raise PlanError(
            f"{where}: of {pair.baseline} and {pair.candidate} only one is timed; the other's mode is trace.",
            hint="Compare two experiments of the same mode.",
        )


def _find_side(
    side: str, name: str, threads: int | None, experiments: tuple[Experiment, ...], where: str
) -> Experiment:
    known = {experiment.name: experiment for experiment in experiments}
    if name not in known:
        raise PlanError(
            f"{where} names {name!r}, which is not an experiment.",
            hint=nearest_names_hint(name, list(known)) or f"Experiments: {', '.join(known)}.",
        )
    counts = known[name].threads
    if threads is not None and threads not in counts:
        raise PlanError(
            f"{where}: {side}_threads is {threads}, and {name} is not run at that thread count.",
            hint=f"Thread counts of {name}: {', '.join(map(str, counts))}.",
        )
    return known[name]
