"""Doubts about a measurement as data: what kind, what was seen, what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Every kind of finding; the value is its name in reports and files."""

    NOTE = "note"
    # How the run went.
    BLOCK_FAILED = "block failed"
    GIVEN_UP = "given up"
    INCOMPLETE = "incomplete"
    NOT_INTERLEAVED = "not interleaved"
    EMULATED = "emulated"
    # What was computed.
    OUTPUTS_DIFFER = "outputs differ"
    OUTPUTS_UNKNOWN = "outputs unknown"
    OUTPUTS_VARY = "outputs vary"
    OUTPUTS_NOT_FINITE = "outputs not finite"
    OUTPUTS_NOT_COMPARED = "outputs not compared"
    KEEPS_STATE = "keeps state"
    UNKNOWN_OPERATORS = "unknown operators"
    # How steady the times are.
    SPREAD = "spread"
    DRIFT = "drift"
    FEW_RUNS = "few runs"
    NOT_STEADY = "not steady"
    COSTLY_TRACER = "costly tracer"
    TRACED_LATENCY = "traced latency"
    NO_TRACES = "no traces"
    # What delegates wrote into traces.
    OPERATORS_NESTED = "operators nested"
    OPERATORS_OVERLAP = "operators overlap"
    CLOCK_UNKNOWN = "clock unknown"
    NEWER_TRACE = "newer trace"
    # What the machine did meanwhile.
    DISTURBED = "disturbed"
    THREADS_DIFFER = "threads differ"
    TOO_MANY_THREADS = "too many threads"
    CORES_MISSING = "cores missing"
    FREQUENCY_MOVED = "frequency moved"
    THROTTLED = "throttled"
    TEMPERATURE_ROSE = "temperature rose"
    POWER_CHANGED = "power changed"
    POWER_SAVING_CHANGED = "power saving changed"
    GOVERNOR_CHANGED = "governor changed"
    # What was sampled.
    NOT_SAMPLED = "not sampled"
    HIDDEN_BUT_EXECUTED = "hidden but executed"
    NOT_EXECUTED = "advertised, not executed"
    FELL_BACK = "fell back"
    TOO_FEW_SAMPLES = "too few samples"
    SAMPLES_DROPPED = "samples dropped"
    SAMPLES_MISSED = "samples missed"
    PREDICTION = "prediction"
    # What the model is, not how it was measured.
    PRECISION = "precision"
    FILE_SIZE = "file size"
    VERSIONS_DIFFER = "versions differ"
    PARTITIONS = "partitions"
    # Two runtimes, or two runs, side by side.
    RUNTIMES_DIFFER = "runtimes differ"
    RUNS_DIFFER = "runs differ"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Finding:
    """A doubt about the measurement: what kind, what was seen, what to do."""

    kind: FindingKind
    message: str
    advice: str


# Facts about the exported model: worth knowing, and no reason to doubt a number.
ABOUT_THE_MODEL = frozenset(
    {FindingKind.PRECISION, FindingKind.FILE_SIZE, FindingKind.PARTITIONS, FindingKind.KEEPS_STATE}
)
# Noise that widens the interval of a speed-up, which is of neighbouring blocks.
IN_THE_INTERVAL = frozenset({FindingKind.SPREAD, FindingKind.DRIFT, FindingKind.DISTURBED, FindingKind.FEW_RUNS})
# What latencies and verdicts do not depend on: they are of iterations without tracer and sampler.
ABOUT_DETAILS = frozenset(
    {
        FindingKind.COSTLY_TRACER,
        FindingKind.NO_TRACES,
        FindingKind.OPERATORS_NESTED,
        FindingKind.OPERATORS_OVERLAP,
        FindingKind.CLOCK_UNKNOWN,
        FindingKind.UNKNOWN_OPERATORS,
        FindingKind.NOT_SAMPLED,
        FindingKind.FELL_BACK,
        FindingKind.TOO_FEW_SAMPLES,
        FindingKind.SAMPLES_DROPPED,
        FindingKind.SAMPLES_MISSED,
        FindingKind.PREDICTION,
    }
)


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one kind that ask for the same thing: what was seen, each once, and the advice once."""

    kind: FindingKind
    messages: tuple[str, ...]
    advice: str


def group_findings(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """In the order in which each kind came first. Readers see groups; files keep every finding."""
    groups: dict[tuple[FindingKind, str], dict[str, None]] = {}
    for finding in findings:
        groups.setdefault((finding.kind, finding.advice), {})[finding.message] = None
    return tuple(FindingGroup(kind, tuple(messages), advice) for (kind, advice), messages in groups.items())
