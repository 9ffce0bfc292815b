"""Doubts about a measurement as data: what kind, what was seen, what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Every kind of finding; the value is its name in reports and files."""

    NOTE = "note"
    # How the run went.
    BLOCK_FAILED = "block failed"
    INCOMPLETE = "incomplete"
    NOT_INTERLEAVED = "not interleaved"
    EMULATED = "emulated"
    # What was computed.
    OUTPUTS_DIFFER = "outputs differ"
    OUTPUTS_UNKNOWN = "outputs unknown"
    UNKNOWN_OPERATORS = "unknown operators"
    # How steady the times are.
    SPREAD = "spread"
    DRIFT = "drift"
    FEW_RUNS = "few runs"
    NOT_STEADY = "not steady"
    SLOW_FIRST_RUN = "slow first run"
    COSTLY_TRACER = "costly tracer"
    TRACED_LATENCY = "traced latency"
    NO_TRACES = "no traces"
    # What the machine did meanwhile.
    DISTURBED = "disturbed"
    THREADS_DIFFER = "threads differ"
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
    # Two runs side by side.
    RUNS_DIFFER = "runs differ"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Finding:
    """A doubt about the measurement: what kind, what was seen, what to do."""

    kind: FindingKind
    message: str
    advice: str
