"""The inputs a static quantisation is calibrated with: never the one it is checked with."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from etprof.core.errors import ExportError
from etprof.export.inputs import cast, tensor_bytes, vary_constants
from etprof.export.source import EagerModel, optional, seeded

Sample = tuple[tuple[Any, ...], Mapping[str, Any]]


def draw_samples(model: EagerModel, count: int, seed: int) -> tuple[list[Sample], str]:
    """Samples from the model's own calibration inputs, else its example inputs under other seeds; and which it was."""
    import torch

    with seeded(seed + 2):
        own = optional(model.instance, "get_calibration_inputs", count)
        if own is not None:
            samples = [(cast(tuple(args), torch.float32), model.kwargs) for args in own]
            return samples[:count], "the model's get_calibration_inputs"
    samples = []
    source = "get_example_inputs with other seeds"
    for index in range(count):
        with seeded(seed + 2 + index):
            args = cast(vary_constants(tuple(model.instance.get_example_inputs()))[0], torch.float32)
            if _same(args, model.args):
                source = (
                    "random values with the mean and deviation of the example inputs, which do not change with the seed"
                )
                args = _respread(model.args)
        samples.append((args, model.kwargs))
    return samples, source


def read_samples(folder: Path, model: EagerModel) -> list[Sample]:
    """One sample per file: .npy for a model of one input, .npz with arrays in the order of the inputs for others."""
    files = sorted(p for p in folder.iterdir() if p.suffix in (".npy", ".npz"))
    if not files:
        raise ExportError(
            f"{folder} contains no calibration inputs.", hint="Put .npy or .npz files of the inputs there."
        )
    return [(_read_sample(path, model.args), model.kwargs) for path in files]


def digest(samples: list[Sample]) -> str:
    from torch.utils import _pytree as pytree

    total = hashlib.sha256()
    for sample in samples:
        for leaf in pytree.tree_leaves(sample):
            total.update(tensor_bytes(leaf))
    return total.hexdigest()


def _read_sample(path: Path, like: tuple[Any, ...]) -> tuple[Any, ...]:
    import torch
    from torch.utils import _pytree as pytree

    try:
        content = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ExportError(f"{path} is not a NumPy file: {error}") from error
    arrays = [content] if isinstance(content, np.ndarray) else [content[name] for name in content.files]
    leaves, spec = pytree.tree_flatten(like)
    expected = [tuple(leaf.shape) for leaf in leaves]
    if [array.shape for array in arrays] != expected:
        raise ExportError(
            f"{path} contains arrays of shape {[array.shape for array in arrays]}; the model takes {expected}.",
            hint="One array per input, in the order of the inputs, each of the example input's shape.",
        )
    tensors = [torch.from_numpy(array).to(leaf.dtype) for array, leaf in zip(arrays, leaves, strict=True)]
    sample: tuple[Any, ...] = pytree.tree_unflatten(tensors, spec)
    return sample


def _same(first: Any, second: Any) -> bool:
    import torch
    from torch.utils import _pytree as pytree

    pairs = zip(pytree.tree_leaves(first), pytree.tree_leaves(second), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def _respread(args: tuple[Any, ...]) -> tuple[Any, ...]:
    import torch
    from torch.utils import _pytree as pytree

    def draw(leaf: Any) -> Any:
        if not leaf.is_floating_point():
            return leaf
        deviation = leaf.std() if leaf.numel() > 1 else torch.tensor(0.0)
        return torch.randn_like(leaf) * deviation.clamp(min=1e-3) + leaf.mean()

    spread: tuple[Any, ...] = pytree.tree_map(draw, args)
    return spread
