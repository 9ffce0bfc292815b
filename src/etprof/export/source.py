"""A model brought to life: seeded weights or a checkpoint, inputs that represent its use, and digests of both."""

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from etprof.core.digest import content_sha256
from etprof.core.errors import ExportError
from etprof.core.model import MethodInputs, Weights
from etprof.core.program import DEFAULT_METHOD
from etprof.export.foreign import foreign_code
from etprof.export.inputs import cast, tensor_bytes, vary_constants
from etprof.export.model_entry import WHEEL, ModelEntry
from etprof.export.random_weights import fill_zero_layers, settle_batch_norm
from etprof.export.wheel_models import load_model_class, no_downloads, repair_torchvision


@dataclass(frozen=True)
class EagerModel:
    """The module in evaluation mode and fp32, with fp32 inputs; `instance` is the user's class.

    `methods` are there where the program is to have several: submodules, each with inputs of its own.
    """

    instance: Any
    module: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    inputs_varied: bool
    weights: Weights
    methods: Mapping[str, "EagerModel"] = field(default_factory=dict)
    constant_methods: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry_points(self) -> Mapping[str, "EagerModel"]:
        return self.methods or {DEFAULT_METHOD: self}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """All three generators a model may draw from, put back afterwards."""
    import torch

    state, numpy_state = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(state)
            np.random.set_state(numpy_state)


@contextmanager
def unchanged_buffers(module: Any) -> Iterator[None]:
    """Runs a module that may keep state, and leaves it as it was: the export is to begin where the first run began."""
    before = [
        (owner, name, buffer, buffer.clone())
        for owner in module.modules()
        for name, buffer in owner.named_buffers(recurse=False)
    ]
    try:
        yield
    finally:
        for owner, name, buffer, value in before:
            # A module may write into its buffer, or put another in its place.
            owner._buffers[name] = buffer.copy_(value)


def build_model(entry: ModelEntry, seed: int, checkpoint: Path | None) -> EagerModel:
    import torch

    if {"torchvision", "timm", "transformers"} & set(entry.requires):
        repair_torchvision()
    with foreign_code(f"Building the model {entry.name!r}"), no_downloads():
        weights = Weights(source="random", seed=seed)
        with seeded(seed):
            instance = load_model_class(entry)()
            module = _module_of(instance)
            if entry.origin == WHEEL and (filled := fill_zero_layers(module)):
                weights = replace(weights, zero_layers_filled=filled)
        with seeded(seed + 1):
            methods: Mapping[str, MethodInputs] = optional(instance, "get_methods") or {}
            first = next(iter(methods.values()), None)
            args, varied_args = vary_constants(first.inputs if first else _inputs_of(instance))
            kwargs, varied_kwargs = vary_constants(dict(optional(instance, "get_example_kwarg_inputs") or {}))
        args, kwargs = cast((args, kwargs), torch.float32)
        if checkpoint:
            weights = load_checkpoint(instance, module, checkpoint)
        elif entry.origin == WHEEL:
            if settle_batch_norm(module, args, kwargs):
                weights = replace(weights, batch_norm="statistics from one forward pass")
        elif _brings_weights(entry, seed, module):
            weights = Weights(source="model")
    model = EagerModel(
        instance=instance,
        module=module,
        args=args,
        kwargs=kwargs,
        dynamic_shapes=optional(instance, "get_dynamic_shapes"),
        inputs_varied=varied_args or varied_kwargs,
        weights=replace(weights, sha256=state_digest(module)),
        constant_methods=dict(optional(instance, "get_constant_methods") or {}),
    )
    return replace(model, methods={name: _method_of(model, name, taken) for name, taken in methods.items()})


def _method_of(model: EagerModel, name: str, taken: MethodInputs) -> EagerModel:
    import torch

    part = getattr(model.module, name, None)
    if not isinstance(part, torch.nn.Module):
        raise ExportError(
            f"get_methods names {name!r}, and the network has no submodule of that name.",
            hint="Each method is a submodule of what get_eager_model() returns, with a forward() of its own.",
        )
    args = cast(taken.inputs, torch.float32)
    return replace(model, module=part, args=args, kwargs={}, dynamic_shapes=taken.dynamic_shapes, constant_methods={})


def _module_of(instance: Any) -> Any:
    import torch

    module = instance.get_eager_model()
    if not isinstance(module, torch.nn.Module):
        raise ExportError(
            f"get_eager_model returned {type(module).__name__}, not a network.",
            hint="Return the torch.nn.Module itself.",
        )
    return module.eval().float().requires_grad_(False)


def _inputs_of(instance: Any) -> tuple[Any, ...]:
    import torch

    inputs = instance.get_example_inputs()
    if isinstance(inputs, torch.Tensor):
        # A tensor can be iterated over too: its rows would silently become the inputs.
        raise ExportError(
            "get_example_inputs returned a tensor, not a tuple of tensors.", hint="Add a comma: return (x,)"
        )
    return tuple(inputs)


def _brings_weights(entry: ModelEntry, seed: int, module: Any) -> bool:
    """Whether a folder's model has weights of its own: then another seed does not change them."""
    with seeded(seed + 1):
        other = _module_of(load_model_class(entry)())
    return state_digest(other) == state_digest(module)


def optional(instance: Any, method: str, *args: Any) -> Any:
    """Calls what ExecuTorch's own example classes may not have."""
    found = getattr(instance, method, None)
    return found(*args) if found else None


def load_checkpoint(instance: Any, module: Any, path: Path) -> Weights:
    """Loads a local file into the module, whole or not at all."""
    state = _read_checkpoint(path)
    adapt = getattr(instance, "adapt_checkpoint", lambda given: given)
    try:
        module.load_state_dict(adapt(state), strict=True)
    except RuntimeError as error:
        detail = " ".join(str(error).split())[:400]
        raise ExportError(
            f"The checkpoint {path} does not fit the model: {detail}",
            hint="Map its keys to the model's in adapt_checkpoint() of the model's class.",
        ) from error
    return Weights(source="checkpoint", file=path.name, file_sha256=content_sha256(path))


def _read_checkpoint(path: Path) -> Mapping[str, Any]:
    import torch

    with foreign_code(
        f"Reading the checkpoint {path}", "It must be a file of torch.save or of safetensors, with tensors."
    ):
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            content = load_file(path)
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping):
        raise ExportError(f"The checkpoint {path} holds a {type(content).__name__}, not a state dict.")
    return content


def state_digest(module: Any) -> str:
    """One digest over every parameter and buffer, in order of name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        if hasattr(tensor, "dtype"):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor_bytes(tensor))
    return digest.hexdigest()
