"""Model files as an export leaves them, built value by value: the program, its input, what the eager model computes."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from builders import an_export_meta
from etprof.core.layout import input_path, reference_path
from etprof.core.model import TensorFile
from etprof.core.plan import Experiment, Pair, Plan, Schedule
from etprof.core.run import Job
from etprof.devices.local import LocalDevice
from etprof.export.meta import save_meta
from program_builder import Method, Tensor, build_program
from scripted_device import scripted_device

# Outputs of the scripted runner are the bytes of a text, so that the noise of one in another can be worked out.
EAGER = "eager___"


def a_model_file(
    folder: Path, name: str, *, method: Method | None = None, data: bytes = b"input", eager: str = EAGER, **meta: Any
) -> Path:
    """A program with one input; without `eager` outputs it is as one was that was exported before they were stored."""
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / f"{name}.pte"
    # Files of two models differ in their bytes, as those of two exports do.
    model.write_bytes(build_program(method or Method()) + f"{folder.name}/{name}".encode())
    takes = (method or Method()).values[0]
    assert isinstance(takes, Tensor)
    inputs = (replace(_save(input_path(model, 0), data), shape=takes.sizes),)
    reference = (_save(reference_path(model, 0), eager.encode()),) if eager else ()
    save_meta(model, replace(an_export_meta(**meta), inputs=inputs, reference=reference))
    return model


def _save(path: Path, content: bytes) -> TensorFile:
    path.write_bytes(content)
    return TensorFile((len(content),), "uint8", file=path.name, sha256=sha256(content).hexdigest())


def a_plan_of_models(models: dict[str, Path], folder: Path, *, blocks: int = 3, **outputs: str) -> Plan:
    """An experiment for each model, all compared with the first; `outputs` are what the scripted runner gives."""
    first, *others = models
    experiments = tuple(
        Experiment(
            name, model=model, runs=5, traced_runs=2,
            extra_args=("--output", outputs.get(name, EAGER), "--output_type", "uint8"),
        )
        for name, model in models.items()
    )  # fmt: skip
    return Plan(
        model=models[first],
        output_root=folder,
        experiments=experiments,
        pairs=tuple(Pair(first, other) for other in others),
        schedule=Schedule(blocks=blocks, max_blocks=blocks, retries=0),
    )


def a_device_for_models(latencies_ms: dict[str, float], seen: Callable[[Job], None] = lambda _job: None) -> LocalDevice:
    """A scripted device on which the experiments take these times, each block a little longer than the one before."""

    def latency_ms(job: Job) -> float:
        seen(job)
        return latencies_ms[job.block.experiment.name] * (1 + 0.001 * job.block.index)

    return scripted_device(latency_ms)
