"""Who is compared with whom: the pairs a plan names, once each can be compared, or those that follow by themselves."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from etprof.core.errors import PlanError, nearest_names_hint
from etprof.core.plan import MODES, Experiment, Pair, list_compared

_OFF = re.compile(r"(^|[-_])off([-_]|$)", re.IGNORECASE)


def settle_pairs(asked: tuple[Pair, ...], experiments: tuple[Experiment, ...], source: str) -> tuple[Pair, ...]:
    """The pairs asked for; with none, those that follow by themselves among the experiments of each mode."""
    if asked:
        for index, pair in enumerate(asked):
            _refuse_incomparable(pair, experiments, f"{source}: analysis.compare_pairs[{index}]")
        return asked
    return tuple(pair for mode in MODES for pair in _find_all_pairs([e for e in experiments if e.mode == mode]))


def _find_all_pairs(experiments: Sequence[Experiment]) -> Iterator[Pair]:
    """The pairs of each program; then every two programs under the same setting, the first named as the baseline."""
    programs: dict[object, list[Experiment]] = {}
    for each in experiments:
        given = each.inputs, each.input_shapes, each.workload
        programs.setdefault((each.model, each.method, given, each.runtime), []).append(each)
    for own in programs.values():
        for options in dict.fromkeys(each.load_options for each in own):
            yield from _find_pairs([each for each in own if each.load_options == options])
        yield from _pair_load_options(own)
    for one, other in combinations(experiments, 2):
        is_other_program = not any(one in own and other in own for own in programs.values())
        if is_other_program and one.hide_isa == other.hide_isa:
            yield from _keep_comparable(one, other)


def _pair_load_options(experiments: Sequence[Experiment]) -> Iterator[Pair]:
    """Each experiment with load options against those without that hide the same."""
    for plain in (each for each in experiments if not each.load_options):
        for other in experiments:
            if other.load_options and other.hide_isa == plain.hide_isa:
                yield from _keep_comparable(plain, other)


def _find_pairs(experiments: Sequence[Experiment]) -> tuple[Pair, ...]:
    """Each experiment that hides features, or whose runner was built without some, against the one that does not.

    Two experiments that hide the same are a pair where each has a runner of its own, or one thread count of its own:
    more against fewer threads.
    """
    if len(experiments) == 2 and experiments[0].hide_isa == experiments[1].hide_isa:
        if experiments[0].runner_path != experiments[1].runner_path:
            return _keep_comparable(*sorted(experiments, key=lambda e: not _is_called_off(e)))
        fewer, more = sorted(experiments, key=lambda e: e.threads)
        differ = len(fewer.threads) == len(more.threads) == 1 and fewer.threads != more.threads
        return (Pair(fewer.name, more.name),) if differ else ()
    shown = [e for e in experiments if not e.hide_isa and not _is_called_off(e)]
    hiding = [e for e in experiments if e not in shown]
    return tuple(Pair(e.name, shown[0].name) for e in hiding) if len(shown) == 1 else ()


def _keep_comparable(baseline: Experiment, candidate: Experiment) -> tuple[Pair, ...]:
    pair = Pair(baseline.name, candidate.name)
    return (pair,) if list_compared(pair, baseline, candidate) else ()


def _is_called_off(experiment: Experiment) -> bool:
    """Whether its runner lies where `etprof runner build` and ExecuTorch's presets put one without an extension.

    A stock runner does not tell what it was built without, so the name of its folder decides which of two runners is
    the baseline; where none is called so, it is that of the first experiment.
    """
    path = experiment.runner_path
    return path is not None and _OFF.search(path.parent.name) is not None


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
