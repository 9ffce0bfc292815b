"""How well a build computes what its model does: SNR on held-out inputs, or what the model's own `evaluate` says."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etprof.core.errors import ExportError
from etprof.core.model import TensorFile
from etprof.export.calibration import Sample, draw_samples
from etprof.export.exporter import eager_outputs
from etprof.export.foreign import foreign_code
from etprof.export.inputs import cast, tensor_bytes
from etprof.export.numerics import compare_outputs, worst_snr
from etprof.export.registry import find_model, find_models_dir
from etprof.export.request import ExportRequest, Quantization
from etprof.export.source import EagerModel, build_model, optional, unchanged_buffers

HELD_OUT = 4
_HINT = "evaluate(self, run) calls run as it would call the model, and returns a number: more is better."

# A build that was made ready to run: tensors in, in the order in which it takes them, and out.
Execute = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Accuracy:
    """`snr_db` is the lowest over the held-out inputs, infinite where every output is equal to the bit."""

    snr_db: float
    metric: float | None


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The eager model with inputs that no build was calibrated with, and what `evaluate` says of it, if it has one."""

    model: EagerModel
    held_out: tuple[Sample, ...]
    metric: float | None


def build_yardstick(request: ExportRequest) -> Yardstick:
    """The model of a request, whatever its precision."""
    import torch

    with torch.no_grad():
        entry = find_model(request.model, find_models_dir(request.models_dir))
        model = build_model(entry, request.seed, request.checkpoint)
        used = Quantization().calibration
        assert isinstance(used, int)  # the number of inputs, where nobody names a folder
        with foreign_code("Making held-out inputs"):
            drawn, _ = draw_samples(model, used + HELD_OUT, request.seed)
        # A model may offer no more inputs than a calibration takes; its example inputs are never among those.
        held_out = tuple(drawn[used:]) or ((model.args, model.kwargs),)
        return Yardstick(model, held_out, _evaluate(model, model.module))


def measure_accuracy(yardstick: Yardstick, inputs: Sequence[TensorFile], open_build: Callable[[], Execute]) -> Accuracy:
    """`inputs` are the example inputs as the build takes them; `open_build` makes it ready, with a state of its own."""
    import torch
    from torch.utils import _pytree as pytree

    model, dtype = yardstick.model, _dtype_of(inputs)
    order = _find_order(_list_leaves(*cast((model.args, dict(model.kwargs)), dtype)), inputs)

    def run_with(execute: Execute, args: Any, kwargs: Mapping[str, Any]) -> list[Any]:
        leaves = _list_leaves(*cast((args, dict(kwargs)), dtype))
        return execute([leaves[place] for place in order])

    lowest = math.inf
    with torch.no_grad():
        for args, kwargs in yardstick.held_out:
            expected = eager_outputs(model, *cast((args, dict(kwargs)), dtype))
            with foreign_code("Running the build with held-out inputs"):
                outputs = run_with(open_build(), args, kwargs)
            lowest = min(lowest, worst_snr(compare_outputs(expected, outputs)))
        if yardstick.metric is None:
            return Accuracy(lowest, None)
        with unchanged_buffers(model.module):
            structure = pytree.tree_structure(model.module(*model.args, **model.kwargs))
        execute = open_build()
        metric = _evaluate(
            model, lambda *args, **kwargs: pytree.tree_unflatten(run_with(execute, args, kwargs), structure)
        )
        return Accuracy(lowest, metric)


def _evaluate(model: EagerModel, run: Callable[..., Any]) -> float | None:
    """None where the model has no `evaluate`, or one that leaves it to the SNR."""
    with foreign_code("evaluate() of the model", _HINT):
        value = optional(model.instance, "evaluate", run)
        if value is None:
            return None
        metric = float(value)
    if not math.isfinite(metric):
        raise ExportError(f"evaluate() of the model returned {metric}.", hint=_HINT)
    return metric


def _dtype_of(inputs: Sequence[TensorFile]) -> Any:
    import torch

    return torch.float16 if any(each.dtype == "float16" for each in inputs) else torch.float32


def _list_leaves(args: Any, kwargs: Any) -> list[Any]:
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves((args, kwargs)) if leaf is not None]


def _find_order(leaves: Sequence[Any], inputs: Sequence[TensorFile]) -> list[int]:
    """Which leaf each input of a build is: a program takes keyword arguments in an order of its own."""
    digests = [hashlib.sha256(tensor_bytes(leaf)).hexdigest() for leaf in leaves]
    order: list[int] = []
    for each in inputs:
        place = next((i for i, digest in enumerate(digests) if digest == each.sha256 and i not in order), None)
        if place is None:
            raise ExportError(
                f"{each.file} is not an example input of the model.",
                hint="Export it again: etprof export MODEL --force",
            )
        order.append(place)
    return order
