"""`etprof doctor --self-test`: tries every part of the work on a device with a reference model, in about a minute."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from etprof.analysis.self_checks import NAMES, SEND, NotHere, judge, judge_device
from etprof.app.block_answers import with_log_tail
from etprof.app.devices import open_device
from etprof.app.measuring import installed_versions
from etprof.app.reference_models import ReferenceModel, choose_reference
from etprof.app.reporting import list_names_here
from etprof.core.errors import EtprofError, TraceError, UsageError
from etprof.core.extensions import Extension, best_extension
from etprof.core.plan import Block, Experiment, Warmup
from etprof.core.redaction import redact_names
from etprof.core.run import DeviceInfo, Job, JobOutcome, RunnerResult
from etprof.core.self_test import Outcome, SelfCheck, SelfTest, TriedBlock, TriedDevice
from etprof.devices.base import Device, merge_states
from etprof.devices.kind import DeviceRequest
from etprof.export.dependencies import RUNTIME, installed_version
from etprof.export.exporter import export_model
from etprof.export.request import ExportRequest
from etprof.reports.self_test import render
from etprof.runner.build import find_runner
from etprof.runner.isa import AMBIGUOUS_FEATURES
from etprof.store.json_file import write_text
from etprof.traces.etdump import read_etdump
from etprof.traces.kernel_samples import read_kernel_samples
from etprof.traces.runner_result import read_output_values, read_runner_result

REPORT = "etprof_self_test.md"
_TIMEOUT_S = 120.0
_SAMPLED_MS = 1000
_THREADS = 2
_EXPORTED = "toy_cnn"
_LOCAL = "local"

Tell = Callable[[str], None]


def run_self_test(request: DeviceRequest, tell: Tell = lambda _: None) -> SelfTest:
    """Tries everything and gives a line for each part; only a wrong request is an error."""
    started_at, began_s = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    # The native runner, and no other in its place: that it cannot be built is among the results.
    wanted = replace(request, runner="native") if request.kind == _LOCAL else request
    with tempfile.TemporaryDirectory(prefix="etprof-self-test-") as scratch:
        folder = Path(scratch)
        tell("preparing the runner")
        # First, since a device that was named wrongly is an error at once.
        info, checks = _test_device(wanted, folder, tell)
        tell("exporting a model and comparing it with eager PyTorch")
        exported = judge("export", lambda: _export(folder / "export"))
    name = f"{request.kind}:{request.place}" if request.place else request.kind
    seconds = round(time.monotonic() - began_s, 1)
    return SelfTest(name, info, installed_versions(), started_at, seconds, (*checks, exported))


def write_self_test(found: SelfTest, path: Path) -> Path:
    """The report as a file that can be sent: without names of users, hosts, serial numbers and folders."""
    write_text(path, render(redact_names(found, found.device, *list_names_here())))
    return path


def _export(folder: Path) -> str:
    missing = [package for package in RUNTIME if installed_version(package) is None]
    if missing:
        raise NotHere(f"{' and '.join(missing)} is not installed; a model that was exported elsewhere is used")
    meta = export_model(ExportRequest(model=_EXPORTED, outdir=folder)).meta
    snr = meta.numerics.worst_snr_db
    return f"{_EXPORTED} gives the outputs of eager PyTorch ({'exactly' if snr is None else f'{snr:.0f} dB'})"


def _test_device(request: DeviceRequest, folder: Path, tell: Tell) -> tuple[DeviceInfo | None, list[SelfCheck]]:
    try:
        with open_device(request) as opened, opened.take_turn():
            info = opened.device.describe()
            built = find_runner() if request.kind == _LOCAL else None
            found = built.description if built else "; ".join(opened.notes) or f"ready on {info.name}"
            runner = SelfCheck("runner", Outcome.PASS, found)
            tested = run_blocks(opened.device, request, folder, tell)
    except UsageError:
        raise
    except EtprofError as error:
        failed = SelfCheck("runner", Outcome.FAIL, error.message, error.hint or SEND)
        return None, [failed, *(SelfCheck(name, Outcome.NOT_HERE, "there is no runner") for name in NAMES)]
    return info, [runner, *judge_device(tested)]


def run_blocks(device: Device, request: DeviceRequest, folder: Path, tell: Tell) -> TriedDevice:
    info = device.describe()
    extension = _find_extension(info)
    reference = choose_reference(extension)
    tell("running a model, traced and sampled")
    shown = _run_block(device, reference, folder / "shown", samples=True)
    hidden = None
    if extension:
        tell(f"running it with {extension.label} hidden")
        hidden = _run_block(device, reference, folder / "hidden", samples=True, hide_isa=extension.hide_isa)
    tested = TriedDevice(
        info=info,
        reported=tuple(name for name in info.features if name not in AMBIGUOUS_FEATURES),
        extension=extension,
        expected=reference.read_outputs(),
        lowest_snr_db=reference.lowest_snr_db,
        model_bytes=reference.model.stat().st_size,
        shown=shown,
        hidden=hidden,
    )
    return _add_python(tested, request, reference, folder / "python", tell)


def _find_extension(info: DeviceInfo) -> Extension | None:
    try:
        return best_extension(info.architecture, info.features)
    except UsageError:
        return None


def _add_python(
    tested: TriedDevice, request: DeviceRequest, reference: ReferenceModel, folder: Path, tell: Tell
) -> TriedDevice:
    if request.kind != _LOCAL:
        return replace(tested, no_python="it runs on this machine only")
    if installed_version("torch") is None:
        return replace(tested, no_python="torch is not installed")
    tell("running it with the Python runner")
    with open_device(replace(request, runner="python")) as opened:
        return replace(tested, python=_run_block(opened.device, reference, folder, samples=False))


def _run_block(
    device: Device, reference: ReferenceModel, folder: Path, *, samples: bool, hide_isa: tuple[str, ...] = ()
) -> TriedBlock:
    """One process of the runner that times, traces and samples; a failure is a result, too."""
    folder.mkdir()
    job = _build_job(device.describe(), reference, folder, samples=samples, hide_isa=hide_isa)
    outcome = device.run(job)
    result, problem = RunnerResult(), outcome.problem
    try:
        result = read_runner_result(job.result)
        problem = result.error or problem
        if not problem:
            return _read_block(job, outcome, result)
    except TraceError as error:
        problem = problem or error.message
    return TriedBlock(with_log_tail(problem, job.log), outcome.duration_s, result)


def _build_job(
    info: DeviceInfo, reference: ReferenceModel, folder: Path, *, samples: bool, hide_isa: tuple[str, ...]
) -> Job:
    sampling = ("--sample_ms", str(_SAMPLED_MS)) if samples else ()
    experiment = Experiment("self_test", hide_isa=hide_isa, extra_args=sampling)
    if not info.times_are_real:
        experiment = replace(experiment, runs=1, traced_runs=1, warmup=Warmup(1, 1))
    return Job(
        block=Block(experiment, min(_THREADS, info.cpu_count), 0),
        model=reference.model,
        inputs=reference.inputs,
        result=folder / "block.result.json",
        etdump=folder / "block.etdump",
        log=folder / "block.log",
        outputs=folder / "outputs",
        timeout_s=_TIMEOUT_S,
        samples=folder / "block.kernels" if samples else None,
    )


def _read_block(job: Job, outcome: JobOutcome, result: RunnerResult) -> TriedBlock:
    whole = replace(
        result,
        cpu_before=merge_states(result.cpu_before, outcome.before),
        cpu_after=merge_states(result.cpu_after, outcome.after),
    )
    return TriedBlock(
        problem="",
        duration_s=outcome.duration_s,
        result=whole,
        outputs=read_output_values(job.outputs, result.outputs),
        trace=read_etdump(job.etdump),
        samples=read_kernel_samples(job.samples) if job.samples and job.samples.exists() else None,
    )
