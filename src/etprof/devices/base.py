"""What every device offers: it describes itself, and runs one job so that the job's files are in place afterwards."""

from dataclasses import replace
from typing import Protocol

from etprof.core.plan import TIMING
from etprof.core.run import CpuState, DeviceInfo, Job, JobOutcome


class Device(Protocol):
    @property
    def platform(self) -> str:
        """The folder name below `runs/`."""

    def describe(self) -> DeviceInfo: ...

    def run(self, job: Job) -> JobOutcome:
        """Runs one block. Files of an earlier run are gone before it starts; a failed runner is an outcome."""


def runner_flags(job: Job) -> list[str]:
    """The runner's command line for a job, in the flags that every runner of ours has."""
    experiment = job.block.experiment
    if job.peak_passes is not None:
        threads, result = str(job.block.threads), str(job.result)
        return ["--peaks", str(job.peak_passes), "--cpu_threads", threads, "--result_path", result]
    timed = experiment.runs if experiment.mode == TIMING else 0
    sampling = ["--kernel_samples", str(job.samples)] if job.samples else []
    method = ["--method_name", job.method] if job.method else []
    shapes = ["--input_shapes", ",".join(_format_shape(s) for s in job.input_shapes)] if job.input_shapes else []
    return [
        "--model_path", str(job.model), "--inputs", ",".join(str(p) for p in job.inputs),
        "--num_executions", str(timed), "--warmup", str(experiment.warmup.minimum),
        "--warmup_max", str(experiment.warmup.maximum), "--traced_executions", str(experiment.traced_runs),
        "--cpu_threads", str(job.block.threads), "--etdump_path", str(job.etdump), "--result_path", str(job.result),
        "--outputs_path", str(job.outputs), "--hide_isa", ",".join(experiment.hide_isa), *sampling,
        *method, *shapes, *experiment.extra_args,
    ]  # fmt: skip


def _format_shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) if shape else "scalar"


def remove_stale_files(job: Job) -> None:
    """Nothing an earlier run left behind may be taken for this one's result, and no link be written through."""
    # Runners write their result beside its place first.
    part = job.result.with_name(f"{job.result.name}.part")
    for path in (job.result, part, job.etdump, job.log, job.samples):
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
