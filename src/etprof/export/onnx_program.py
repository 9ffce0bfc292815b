"""ONNX programs: written from what torch.export captured, and run once with ONNX Runtime to see what they compute."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etprof.core.errors import ExportError
from etprof.export.converted import Converter


def _write(captured: Any, path: Path) -> None:
    """One file: weights in a second one would be without a digest. ONNX allows 2 GB then."""
    import torch

    torch.onnx.export(captured, (), path, dynamo=True, external_data=False, optimize=True, verbose=False)


def _run(path: Path, tensors: Sequence[Any]) -> list[Any]:
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    if len(names) != len(tensors):
        raise ExportError(f"The ONNX program takes {len(names)} inputs, the model {len(tensors)}.")
    outputs = session.run(None, dict(zip(names, (tensor.numpy() for tensor in tensors), strict=True)))
    return [torch.as_tensor(output) for output in outputs]


CONVERTER = Converter(_write, _run)
