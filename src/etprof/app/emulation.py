"""What an emulated run costs: estimated from the model's multiply-accumulates before it starts."""

from math import ceil

from etprof.core.plan import TIMING, TRACE, Experiment, Plan
from etprof.core.units import format_count, format_macs, format_seconds

# From two models in fp32, QEMU 11.1 on an AMD EPYC, one thread: multiply-accumulates of all inferences of a run, SME2
# shown and hidden, over the CPU time of everything it did, analysis included. toy_cnn 103 M and 103 M per second in two
# runs, mobilenet_v3_small 85 M and 87 M. Nothing else was measured: INT8, fp16, other layers and other CPUs may be far
# from it. It is CPU time, so a busy machine takes longer: these runs took three to four times as long by the clock.
_MACS_PER_S = 100e6
# Starting, and loading the model twice; a round number, not measured by itself.
_START_S = 1.0
# The median of those eight blocks, which took 6 to 13 iterations to become steady.
_USUAL_WARMUP = 8
# Longer than this, a user wants to know what makes it shorter.
_LONG_S = 60.0
_DEFAULT_SAMPLING_S = 1.0


def describe_cost(plan: Plan, macs: int | None) -> str:
    """One sentence, and what shortens the run where it is long; `macs` are those of one inference."""
    if not macs:
        return (
            "The cost of this emulated run is unknown: the model's graph tells no multiply-accumulates. "
            "Export it with etprof to get an estimate."
        )
    cost_s = estimate_s(plan, macs)
    blocks = format_count(plan.schedule.blocks * len(plan.variants), "block")
    said = (
        f"Emulation takes roughly {format_seconds(cost_s)} on an idle machine: "
        f"{blocks}, {format_macs(macs)} multiply-accumulates per inference."
    )
    return f"{said} {_advise(plan, macs)}" if cost_s > _LONG_S else said


def estimate_s(plan: Plan, macs: int) -> float:
    each = sum(len(e.threads) * estimate_block_s(e, macs) for e in plan.experiments)
    return plan.schedule.blocks * each


def estimate_block_s(experiment: Experiment, macs: int) -> float:
    inference_s = macs / _MACS_PER_S
    warmup = min(max(experiment.warmup.minimum, _USUAL_WARMUP), experiment.warmup.maximum)
    untraced = warmup + (experiment.runs if experiment.mode == TIMING else 0)
    traced = experiment.traced_runs
    if experiment.mode == TRACE:
        traced = max(traced, ceil(_sampling_s(experiment) / inference_s))
    return _START_S + (untraced + traced) * inference_s


def _sampling_s(experiment: Experiment) -> float:
    """What the runner is told, or its default."""
    given = dict(zip(experiment.extra_args, experiment.extra_args[1:], strict=False)).get("--sample_ms")
    return float(given) / 1000 if given else _DEFAULT_SAMPLING_S


def _advise(plan: Plan, macs: int) -> str:
    """Fewer seconds where sampling is most of it; otherwise inferences are, and only a smaller model shortens those."""
    sampled = [e for e in plan.experiments if e.mode == TRACE]
    longest_s = max((_sampling_s(e) for e in sampled), default=0.0)
    if longest_s > max((e.traced_runs * macs / _MACS_PER_S for e in sampled), default=0.0):
        return "Fewer --seconds or --blocks shorten it."
    return "A smaller input size of the model or fewer --blocks shorten it: the same kernels execute."
