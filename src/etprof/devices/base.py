"""What every device offers: it describes itself, and runs one job so that the job's files are in place afterwards."""

from dataclasses import replace
from typing import Protocol

from etprof.core.load_options import PACKED_CACHE, format_options
from etprof.core.plan import TIMING
from etprof.core.run import CpuState, DeviceInfo, Job, JobOutcome
from etprof.core.units import spell_shape


class Device(Protocol):
    @property
    def platform(self) -> str:
        """The folder name below `runs/`."""

    def describe(self) -> DeviceInfo: ...

    def run(self, job: Job) -> JobOutcome:
        """Runs one block. Files of an earlier run are gone before it starts; a failed runner is an outcome."""


def runner_flags(job: Job, *, is_emulated: bool = False) -> list[str]:
    """The runner's command line for a job, in the flags that every runner of ours has.

    An emulator would start the program again on the machine below it, and its files are not the device's.
    """
    experiment = job.block.experiment
    if job.peak_passes is not None:
        threads, result = str(job.block.threads), str(job.result)
        return ["--peaks", str(job.peak_passes), "--cpu_threads", threads, "--result_path", result]
    timed = experiment.runs if experiment.mode == TIMING else 0
    sampling = ["--kernel_samples", str(job.samples)] if job.samples else []
    method = ["--method_name", job.method] if job.method else []
    workload = ["--workload", str(job.workload)] if job.workload else []
    steps = ["--steps_path", str(job.steps)] if job.steps else []
    shapes = ["--input_shapes", ",".join(map(spell_shape, job.input_shapes))] if job.input_shapes else []
    return [
        "--model_path", str(job.model), "--inputs", ",".join(str(p) for p in job.inputs),
        "--num_executions", str(timed), "--warmup", str(experiment.warmup.minimum),
        "--warmup_max", str(experiment.warmup.maximum), "--traced_executions", str(experiment.traced_runs),
        "--cpu_threads", str(job.block.threads), "--etdump_path", str(job.etdump), "--result_path", str(job.result),
        "--outputs_path", str(job.outputs), "--hide_isa", ",".join(experiment.hide_isa), *sampling,
        *method, *shapes, *workload, *steps, *_load_flags(job), *([] if is_emulated else _start_flags(job)),
        *experiment.extra_args,
    ]  # fmt: skip


def _load_flags(job: Job) -> list[str]:
    options = tuple(
        (name, str(job.packed_cache) if name == PACKED_CACHE else value)
        for name, value in job.block.experiment.load_options
    )
    return ["--load_options", format_options(options)] if options else []


def _start_flags(job: Job) -> list[str]:
    # A launcher expects the program that it launches, not another start of it.
    clock = ["--exec_clock", "1"] if not job.block.experiment.launcher else []
    return [*(["--page_cache", job.page_cache] if job.page_cache else []), *clock]


def remove_stale_files(job: Job) -> None:
    """Nothing an earlier run left behind may be taken for this one's result, and no link be written through."""
    # Runners write their result beside its place first.
    part = job.result.with_name(f"{job.result.name}.part")
    for path in (job.result, part, job.etdump, job.log, job.samples, job.steps):
        if path:
            path.unlink(missing_ok=True)
    if job.outputs.is_symlink():
        job.outputs.unlink()
    for path in job.outputs.glob("output_*.bin"):
        path.unlink()


def merge_states(said: CpuState, seen: CpuState | None) -> CpuState:
    """What the runner said about its CPU, with what only the device around it knows.

    Frequencies are the runner's alone: when the device is asked, before and after a block, its cores are idle.
    """
    if seen is None:
        return said
    return replace(
        seen,
        frequencies_khz=said.frequencies_khz,
        load_average=seen.load_average if said.load_average is None else said.load_average,
        temperature_c=seen.temperature_c if said.temperature_c is None else said.temperature_c,
        throttling=said.throttling if seen.throttling is None else seen.throttling,
    )
