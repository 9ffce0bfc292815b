"""A series of runs as a trend: its levels, what changed with each step, and how a further run compares with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log, sqrt
from statistics import fmean, median, stdev

from etprof.analysis.timing.change_points import find_level_changes
from etprof.analysis.timing.student import student_quantile
from etprof.core.estimates import Interval
from etprof.core.history import Step, Trend, TrendGroup, TrendPoint

# A step must exceed this many times the spread between runs, and the noise inside of them.
_BEYOND = 2.0
# Runs of the present level that a further run is judged by.
RECENT = 20
FEWEST_STABLE = 3
_CONFIDENCE = 0.95

# What runs may be grouped by, and the fact that holds it; a commit is stated when a run is added.
GROUPINGS: Mapping[str, str] = {"version": "executorch", "commit": "", "device": ""}


def build_trend(model: str, variant: str, device: str, points: Sequence[TrendPoint]) -> Trend:
    changes, spread = find_level_changes([point.median_ms for point in points])
    noise = median([point.noise_floor for point in points if point.noise_floor is not None] or [0.0])
    steps = tuple(
        Step(
            index=change.index,
            before_ms=change.before,
            after_ms=change.after,
            change=change.change,
            spread=change.spread,
            p_value=change.p_value,
            is_beyond_noise=abs(change.change) > max(_BEYOND * change.spread, noise),
            changed=_list_changed(points[change.index - 1], points[change.index]),
        )
        for change in changes
    )
    return Trend(model, variant, device, tuple(points), spread, steps)


def group_trend(trend: Trend, by: str) -> Trend:
    """With the runs of each version or commit taken together, in the order of their first run."""
    groups: dict[str, list[float]] = {}
    for point in trend.points:
        name = point.commit if by == "commit" else point.facts.get(GROUPINGS[by], "")
        groups.setdefault(name or "not stated", []).append(point.median_ms)
    return replace(trend, groups=_build_groups(groups))


def compare_devices(trends: Sequence[Trend]) -> tuple[TrendGroup, ...]:
    """The present level of each device, the fastest first; each with its difference from the fastest."""
    levels = {trend.device: [point.median_ms for point in trend.stable] for trend in trends}
    ordered = dict(sorted(levels.items(), key=lambda item: median(item[1])))
    best = median(next(iter(ordered.values())))
    return tuple(
        replace(group, change=median(levels[group.name]) / best - 1 if number else None)
        for number, group in enumerate(_build_groups(ordered))
    )


def estimate_against(stable: Sequence[TrendPoint], median_ms: float) -> Interval | None:
    """The speed-up of a further run over the level, with the interval that the spread between runs gives it."""
    logs = [log(point.median_ms) for point in stable[-RECENT:]]
    if len(logs) < FEWEST_STABLE:
        return None
    reach = student_quantile((1 + _CONFIDENCE) / 2, len(logs) - 1) * stdev(logs) * sqrt(1 + 1 / len(logs))
    gain = fmean(logs) - log(median_ms)
    return Interval(exp(gain), exp(gain - reach), exp(gain + reach), _CONFIDENCE)


def _build_groups(groups: Mapping[str, Sequence[float]]) -> tuple[TrendGroup, ...]:
    built: list[TrendGroup] = []
    for name, values in groups.items():
        middle = median(values)
        spread = stdev(map(log, values)) if len(values) > 1 else None
        built.append(TrendGroup(name, len(values), middle, spread, middle / built[-1].median_ms - 1 if built else None))
    return tuple(built)


def _list_changed(before: TrendPoint, after: TrendPoint) -> tuple[tuple[str, str, str], ...]:
    names = dict.fromkeys([*before.facts, *after.facts])
    changed = [(name, before.facts.get(name, ""), after.facts.get(name, "")) for name in names]
    if before.commit != after.commit:
        changed.insert(0, ("commit", before.commit, after.commit))
    return tuple(each for each in changed if each[1] != each[2])
