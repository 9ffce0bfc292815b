"""The inputs a model is exported, checked and later measured with: cast, flattened, and written as raw bytes."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etprof.core.errors import ExportError


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
                f"Input {index} of the model is a {type(leaf).__name__}, and a runner feeds tensors only.",
                hint="Fix the value inside get_eager_model(), or pass it as a tensor.",
            )
    return leaves


def save(tensors: Sequence[Any], folder: Path, stem: str) -> list[dict[str, Any]]:
    """Writes one file of little-endian bytes per input and returns what export_meta.json says about them."""
    return [_save_one(tensor, folder / f"{stem}.input_{index}.bin") for index, tensor in enumerate(tensors)]


def _save_one(tensor: Any, path: Path) -> dict[str, Any]:
    content = tensor_bytes(tensor)
    path.write_bytes(content)
    return {"file": path.name, **describe(tensor), "sha256": hashlib.sha256(content).hexdigest()}


def describe(tensor: Any) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}


def tensor_bytes(tensor: Any) -> bytes:
    """Row-major bytes; a detour over uint8, because NumPy has no bfloat16."""
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    content: bytes = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return content
