"""Whether each part of the work works on a device, judged by what blocks of the reference model left."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isinf

from etprof.analysis.kernels.evidence import build_evidence
from etprof.analysis.output_differences import signal_to_noise_db
from etprof.core.categories import COMPUTE
from etprof.core.errors import EtprofError, RunnerError
from etprof.core.extensions import ARM64
from etprof.core.kernel_evidence import Executed, KernelEvidence
from etprof.core.loaded_run import SampledBlock
from etprof.core.plan import Variant
from etprof.core.self_test import Outcome, SelfCheck, TriedBlock, TriedDevice
from etprof.core.units import format_ns, format_percent

SEND = "Send the report of this self-test: it says what this machine answered."
_FEWEST_SAMPLES = 50
# Of the samples of computing threads: between two operators little else runs. With another clock than the trace's,
# nearly all samples would fall outside of every operator.
_LEAST_INSIDE = 0.5
# Clocks of threads and of the process are read one after the other.
_CLOCK_SLACK = 1.1


class NotHere(Exception):  # noqa: N818 - it is no error: the machine lacks what the check is about
    """Raised by a check with the reason why it does not apply."""


@dataclass(frozen=True)
class _Check:
    """`judge` gives what it found, or raises NotHere, or an error where the part does not work."""

    name: str
    judge: Callable[[TriedDevice], str]


def judge_device(tested: TriedDevice) -> list[SelfCheck]:
    return [judge(check.name, partial(check.judge, tested)) for check in _CHECKS]


def judge(name: str, run: Callable[[], str]) -> SelfCheck:
    """A check that is run now, as a line."""
    try:
        return SelfCheck(name, Outcome.PASS, run())
    except NotHere as reason:
        return SelfCheck(name, Outcome.NOT_HERE, str(reason))
    except EtprofError as error:
        return SelfCheck(name, Outcome.FAIL, error.message, error.hint or SEND)


def _fail(message: str, hint: str = SEND) -> RunnerError:
    return RunnerError(message, hint=hint)


def _shown(tested: TriedDevice) -> TriedBlock:
    if tested.shown.problem:
        raise NotHere("the reference model does not run")
    return tested.shown


def _hidden(tested: TriedDevice) -> TriedBlock:
    if tested.hidden is None:
        raise NotHere("this CPU has no extension that can be hidden")
    if tested.hidden.problem:
        raise NotHere("hiding does not work")
    return tested.hidden


def _judge_model(tested: TriedDevice) -> str:
    block = tested.shown
    if block.problem:
        raise _fail(block.problem)
    result = block.result
    return f"{result.runner} runner, executorch {result.executorch_version}, {result.threads_in_force} threads"


def _judge_outputs(tested: TriedDevice) -> str:
    return _compare(tested, _shown(tested))


def _compare(tested: TriedDevice, block: TriedBlock) -> str:
    snr = signal_to_noise_db(tested.expected, block.outputs)
    if snr is None:
        raise _fail("The outputs have other shapes than those of the eager model.")
    if not snr >= tested.lowest_snr_db:
        raise _fail(
            f"The outputs differ from those of the eager model: {snr:.0f} dB, less than {tested.lowest_snr_db:.0f}."
        )
    return "exactly those of the eager model" if isinf(snr) else f"those of the eager model ({snr:.0f} dB)"


def _judge_features(tested: TriedDevice) -> str:
    seen = _shown(tested).result.features_seen
    if not seen:
        reason = tested.hidden.problem.partition("\n")[0] if tested.hidden else ""
        raise _fail(f"The runner could not prove its table of CPU features. {reason}".rstrip())
    absent = sorted(set(tested.reported) - set(seen))
    if absent:
        raise _fail(f"The operating system reports {', '.join(absent)}, and the runner does not see it.")
    return f"{len(tested.reported)} features are those of the operating system"


def _judge_hiding(tested: TriedDevice) -> str:
    if tested.hidden is None or tested.extension is None:
        raise NotHere("this CPU has no extension that can be hidden")
    if tested.hidden.problem:
        raise _fail(tested.hidden.problem)
    visible = sorted(set(tested.extension.features) - set(tested.hidden.result.features_hidden))
    if visible:
        raise _fail(f"{', '.join(visible)} should be hidden, and is not.")
    return f"{tested.extension.label} hidden; outputs: {_compare(tested, tested.hidden)}"


def _judge_trace(tested: TriedDevice) -> str:
    block = _shown(tested)
    trace = block.trace
    if trace is None or not trace.run_count:
        raise _fail("No inference was traced.")
    if trace.run_count != len(block.result.traced_ns):
        raise _fail(f"The trace holds {trace.run_count} inferences, and {len(block.result.traced_ns)} were run.")
    operators = int((trace.is_operator & (trace.run == 0)).sum())
    if not operators:
        raise _fail("The trace names no operator.")
    return f"{operators} operators in each of {trace.run_count} inferences"


def _judge_sampling(tested: TriedDevice) -> str:
    evidence = _prove(tested, _shown(tested))
    inside = sum(row.samples for row in evidence.operators)
    if inside + evidence.outside < _FEWEST_SAMPLES:
        raise _fail(f"Only {inside + evidence.outside} samples were taken of computing threads.")
    if inside < _LEAST_INSIDE * (inside + evidence.outside):
        share = format_percent(inside / (inside + evidence.outside))
        raise _fail(f"Only {share} of the samples fall into an operator: sampler and trace disagree about the time.")
    threads = tested.shown.result.threads_in_force or 1
    if evidence.sampled_threads < threads:
        raise _fail(f"{evidence.sampled_threads} threads were sampled, and {threads} compute.")
    return f"{evidence.samples:,} samples of {evidence.sampled_threads} threads, {inside:,} of them in operators"


def _judge_names(tested: TriedDevice) -> str:
    samples = _shown(tested).samples
    if samples is None:
        raise _fail("No samples were written.")
    ours = [place for place in samples.locations if samples.libraries[place.library].startswith("libexecutorch")]
    if not ours or any(not place.code for place in ours):
        raise _fail("The samples do not show the machine code that ExecuTorch's libraries executed.")
    functions = {place.symbol for place in ours if place.symbol}
    if samples.kernel_names:
        return f"{len(samples.kernel_names)} kernels are named in the libraries; {len(functions)} sampled functions are"
    if tested.info.architecture == ARM64:
        raise _fail("The libraries name no kernel: their symbol tables could not be read.")
    raise NotHere("the libraries for this architecture name no kernels")


def _judge_executed(tested: TriedDevice) -> str:
    evidence = _prove(tested, _shown(tested))
    if not any(row.executed is Executed.YES for row in evidence.operators if row.category in COMPUTE):
        raise _fail(f"No operator executed {evidence.extension}: {evidence.verdict}")
    return evidence.verdict


def _judge_not_executed(tested: TriedDevice) -> str:
    evidence = _prove(tested, _hidden(tested))
    if evidence.stray or any(row.executed is Executed.YES for row in evidence.operators):
        raise _fail(f"{evidence.extension} was hidden and executed all the same: {evidence.verdict}")
    return evidence.verdict


def _prove(tested: TriedDevice, block: TriedBlock) -> KernelEvidence:
    if block.samples is None or block.trace is None:
        raise _fail("No samples were written.")
    others = [tested.hidden.result.features_hidden] if tested.hidden else []
    return build_evidence(
        Variant("self-test", block.result.threads_in_force or 1),
        [SampledBlock(block.samples, block.trace)],
        seen=block.result.features_seen,
        hidden=block.result.features_hidden,
        elsewhere=others,
        times_are_real=tested.info.times_are_real,
    )


def _timed(tested: TriedDevice) -> TriedBlock:
    if not tested.info.times_are_real:
        raise NotHere("times under emulation are not meaningful")
    return _shown(tested)


def _judge_times(tested: TriedDevice) -> str:
    block = _timed(tested)
    times = sorted(block.result.latency_ns)
    if not times or times[0] <= 0 or sum(times) > block.duration_s * 1e9:
        raise _fail("The times of the inferences are not possible: the runner's clock is wrong.")
    return f"median {format_ns(times[len(times) // 2])} over {len(times)} inferences"


def _judge_cpu_time(tested: TriedDevice) -> str:
    block = _timed(tested)
    time = block.result.cpu_time
    threads = block.result.threads_in_force or 1
    if time is None or not 0 < time.cpu_ns <= time.wall_ns * threads * _CLOCK_SLACK:
        raise _fail("The CPU time of the inferences is missing or not possible.")
    waiting = "" if any(thread.waited_ns is not None for thread in time.threads) else "; waiting is not reported"
    return f"{format_ns(time.cpu_ns)} in {format_ns(time.wall_ns)}{waiting}"


def _judge_memory(tested: TriedDevice) -> str:
    peak = _shown(tested).result.peak_bytes
    if peak is None:
        raise _fail("The runner does not know how much memory it used.")
    if peak < tested.model_bytes:
        raise _fail(f"The runner used {peak} bytes at most, less than the model has.")
    return f"at most {peak / 2**20:.1f} MiB"


def _judge_cores(tested: TriedDevice) -> str:
    info = tested.info
    if _is_mac(tested) and not info.clusters:
        raise _fail("macOS did not say how many performance and efficiency cores there are.")
    kinds = [f"{len(each.cores)} {each.name}" for each in reversed(info.clusters) if each.name]
    return f"{info.cpu_count} cores" + (f": {', '.join(kinds)}" if kinds else ", all alike")


def _judge_thermal(tested: TriedDevice) -> str:
    state = _shown(tested).result.cpu_after
    if state.throttling is not None:
        return f"throttling level {state.throttling}"
    if state.temperature_c is not None:
        return f"{state.temperature_c:.0f} °C"
    if _is_mac(tested):
        raise _fail("macOS did not say its thermal pressure level.")
    raise NotHere("this system reports neither temperature nor throttling")


def _judge_python(tested: TriedDevice) -> str:
    if tested.python is None:
        raise NotHere(tested.no_python)
    if tested.python.problem:
        raise _fail(tested.python.problem)
    return f"outputs: {_compare(tested, tested.python)}"


def _is_mac(tested: TriedDevice) -> bool:
    return tested.info.system.startswith("Darwin")


_CHECKS = (
    _Check("model", _judge_model),
    _Check("outputs", _judge_outputs),
    _Check("feature table", _judge_features),
    _Check("hiding", _judge_hiding),
    _Check("trace", _judge_trace),
    _Check("sampling", _judge_sampling),
    _Check("kernel names", _judge_names),
    _Check("executed kernels", _judge_executed),
    _Check("hidden kernels", _judge_not_executed),
    _Check("latency", _judge_times),
    _Check("CPU time", _judge_cpu_time),
    _Check("memory", _judge_memory),
    _Check("cores", _judge_cores),
    _Check("thermal state", _judge_thermal),
    _Check("Python runner", _judge_python),
)
# In the order in which they are reported.
NAMES = tuple(check.name for check in _CHECKS)
