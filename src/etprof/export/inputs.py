"""The inputs a model is exported, checked and later measured with: cast, flattened, and written as raw bytes."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etprof.core.errors import ExportError
from etprof.core.layout import input_path, reference_path
from etprof.core.model import TensorFile, TensorInfo
from etprof.core.program import DEFAULT_METHOD


def cast(tree: Any, dtype: Any) -> Any:
    """Every floating-point tensor of a nest of inputs in another type; integers and booleans stay what they are."""
    import torch
    from torch.utils import _pytree as pytree

    def cast_one(leaf: Any) -> Any:
        return leaf.to(dtype) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    return pytree.tree_map(cast_one, tree)


def vary_constants(tree: Any) -> tuple[Any, bool]:
    """Replaces floating-point tensors of one repeated value by random ones, and says whether it did.

    Several of ExecuTorch's examples offer all-ones inputs: they hide errors in the layout, and say nothing on numerics.
    """
    import torch
    from torch.utils import _pytree as pytree

    leaves, spec = pytree.tree_flatten(tree)
    varied = [torch.randn_like(leaf) if _is_constant(leaf) else leaf for leaf in leaves]
    return pytree.tree_unflatten(varied, spec), any(new is not old for new, old in zip(varied, leaves, strict=True))


def _is_constant(leaf: Any) -> bool:
    import torch

    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point() or leaf.numel() == 0:
        return False
    return bool((leaf == leaf.flatten()[0]).all())


def flatten(args: tuple[Any, ...], kwargs: Mapping[str, Any], exported: Any) -> list[Any]:
    """The tensors in the order in which the program takes them."""
    import torch
    from torch.export._tree_utils import reorder_kwargs
    from torch.utils import _pytree as pytree

    ordered = reorder_kwargs(dict(kwargs), exported.call_spec.in_spec) if kwargs else {}
    leaves = [leaf for leaf in pytree.tree_leaves((args, ordered)) if leaf is not None]
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor):
            raise ExportError(
                f"Input {index} of the model is of type {type(leaf).__name__}; a runner takes tensors only.",
                hint="Fix the value inside get_eager_model(), or pass it as a tensor.",
            )
    return leaves


def save(tensors: Sequence[Any], pte: Path, method: str = DEFAULT_METHOD) -> tuple[TensorFile, ...]:
    """Writes one file of little-endian bytes per input, beside the program."""
    return tuple(_save_one(tensor, input_path(pte, index, method)) for index, tensor in enumerate(tensors))


def save_reference(outputs: Sequence[Any], pte: Path, method: str = DEFAULT_METHOD) -> tuple[TensorFile, ...]:
    """Writes what the eager model computed, in the same way; what is no number has no file."""
    import torch

    paths = (reference_path(pte, index, method) for index in range(len(outputs)))
    return tuple(
        _save_one(torch.as_tensor(value), path)
        if isinstance(value, (torch.Tensor, int, float))
        else TensorFile((), describe(value).dtype, file="", sha256="")
        for value, path in zip(outputs, paths, strict=True)
    )


def _save_one(tensor: Any, path: Path) -> TensorFile:
    content = tensor_bytes(tensor)
    path.write_bytes(content)
    info = describe(tensor)
    return TensorFile(info.shape, info.dtype, file=path.name, sha256=hashlib.sha256(content).hexdigest())


def describe(value: Any) -> TensorInfo:
    """Shape and type; what is no tensor has no shape, and the type of the value."""
    import torch

    if not isinstance(value, torch.Tensor):
        return TensorInfo((), "none" if value is None else type(value).__name__)
    return TensorInfo(tuple(value.shape), str(value.dtype).removeprefix("torch."))


def tensor_bytes(tensor: Any) -> bytes:
    """Row-major bytes; a detour over uint8, because NumPy has no bfloat16."""
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    content: bytes = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return content
