"""One model on several devices: which of them gain from an extension of their CPU, and by how much."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from etprof.core.estimates import Interval, Verdict
from etprof.core.extensions import label_of
from etprof.core.plan import Variant
from etprof.core.report import Comparison, Report
from etprof.core.units import NO_TIMES, format_count, format_ms, format_ratio
from etprof.reports.text_table import Column, TextTable

_MIXED = "mixed"


@dataclass(frozen=True)
class DeviceGain:
    """What an extension changes on a device; of several runs there the medians, and all that their intervals span."""

    model: str
    extension: str
    threads: int
    device: str
    cpu: str
    runs: int
    baseline_ms: float | None
    candidate_ms: float | None
    speedup: Interval | None
    verdict: str

    @property
    def times(self) -> tuple[str, str]:
        """Without the extension and with it."""
        return _time(self.baseline_ms), _time(self.candidate_ms)

    @property
    def gain(self) -> str:
        if self.speedup is None:
            return "n/a"
        bounds = f"{format_ratio(self.speedup.low)} to {format_ratio(self.speedup.high)}"
        return f"{format_ratio(self.speedup.value)} ({bounds})"


def list_gains(reports: Iterable[Report]) -> tuple[DeviceGain, ...]:
    """By model, extension and threads, the largest gain first; only comparisons that are about an extension."""
    found: dict[tuple[str, str, int, str], list[tuple[Report, Comparison]]] = {}
    for report in reports:
        for comparison in report.comparisons:
            hidden = set(report.of(comparison.baseline).features_hidden)
            extension = label_of(hidden - set(report.of(comparison.candidate).features_hidden))
            if extension and comparison.baseline.threads == comparison.candidate.threads:
                device = report.context.get("device", "unknown")
                key = report.model, extension, comparison.candidate.threads, device
                found.setdefault(key, []).append((report, comparison))
    gains = [_combine(*key, runs) for key, runs in found.items()]
    return tuple(sorted(gains, key=lambda g: (g.model, g.extension, g.threads, -(g.speedup.value if g.speedup else 0))))


def _combine(
    model: str, extension: str, threads: int, device: str, runs: Sequence[tuple[Report, Comparison]]
) -> DeviceGain:
    intervals = [comparison.speedup for _, comparison in runs if comparison.speedup]
    verdicts = {comparison.verdict.value for _, comparison in runs}
    is_real = all(report.times_are_real for report, _ in runs)
    return DeviceGain(
        model=model,
        extension=extension,
        threads=threads,
        device=device,
        cpu=runs[0][0].context.get("cpu", "unknown"),
        runs=len(runs),
        baseline_ms=_median_ms((report, comparison.baseline) for report, comparison in runs),
        candidate_ms=_median_ms((report, comparison.candidate) for report, comparison in runs),
        speedup=Interval(
            value=median(each.value for each in intervals),
            low=min(each.low for each in intervals),
            high=max(each.high for each in intervals),
            confidence=intervals[0].confidence,
        )
        if intervals
        else None,
        verdict=NO_TIMES if not is_real else verdicts.pop() if len(verdicts) == 1 else _MIXED,
    )


def _median_ms(variants: Iterable[tuple[Report, Variant]]) -> float | None:
    times = [latency.median_ms for report, variant in variants if (latency := report.of(variant).latency)]
    return median(times) if times else None


def _time(milliseconds: float | None) -> str:
    return "n/a" if milliseconds is None else format_ms(milliseconds)


def gain_sentences(gains: Sequence[DeviceGain]) -> list[str]:
    """One for each model and extension: on how many devices it is faster, and where most."""
    groups: dict[tuple[str, str, int], list[DeviceGain]] = {}
    for gain in gains:
        groups.setdefault((gain.model, gain.extension, gain.threads), []).append(gain)
    return [_say(*key, group) for key, group in groups.items()]


def _say(model: str, extension: str, threads: int, group: Sequence[DeviceGain]) -> str:
    faster = [gain for gain in group if gain.verdict == Verdict.FASTER.value]
    unknown = sum(gain.verdict == NO_TIMES for gain in group)
    where, timed = f"{model} at {format_count(threads, 'thread')}", len(group) - unknown
    if not timed:
        return f"{where}: all runs are emulated, so they do not tell what {extension} gains."
    text = f"{where}: {extension} makes it faster on {len(faster)} of {format_count(timed, 'device')}"
    if faster:
        text += f", most on {faster[0].device}: {faster[0].gain}"
    rest = f" On {format_count(unknown, 'emulated device')} times are not meaningful." if unknown else ""
    return f"{text}.{rest}"


def build_gain_table(gains: Sequence[DeviceGain]) -> TextTable:
    return TextTable(
        "",
        [
            Column("model", [gain.model for gain in gains]),
            Column("device", [gain.device for gain in gains]),
            Column("extension", [gain.extension for gain in gains], 2),
            Column("threads", [str(gain.threads) for gain in gains], 4, right=True),
            Column("runs", [str(gain.runs) for gain in gains], 5, right=True),
            Column("without", [gain.times[0] for gain in gains], 3, right=True),
            Column("with", [gain.times[1] for gain in gains], 3, right=True),
            Column("speed-up", [gain.gain for gain in gains], right=True),
            Column("verdict", [gain.verdict for gain in gains], 1),
        ],
    )
