"""Exports that many tests look at, each made once by the real exporter; and folders of small models."""

import gc
import textwrap
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.model import Artifact
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.request import Quantization
from parts import need

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "model_profiling" / "models"


@pytest.fixture(scope="session")
def libraries() -> None:
    """torch and executorch, imported once: what they warn about on the way is not ours."""
    need(find_spec("torch") and find_spec("executorch") and find_spec("torchao"), "torch or executorch is missing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("torch", "executorch.exir", "torchao"):
            import_module(name)
    # A million objects that stay: exports make many more, and the collector need not go through these each time.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory, libraries: None) -> Callable[..., Artifact]:
    """Exports a model of the repository or of the wheel; the same request gives the same artifact."""
    made: dict[ExportRequest, Artifact] = {}

    def export(model: str, dtype: str = "fp32", quantization: Quantization | None = None) -> Artifact:
        key = ExportRequest(model, dtype=dtype, quantization=quantization, models_dir=MODELS, save_graph=True)
        if key not in made:
            folder = tmp_path_factory.mktemp(model)
            made[key] = export_model(
                ExportRequest(model, folder, dtype=dtype, quantization=quantization, models_dir=MODELS, save_graph=True)
            )
        return made[key]

    return export


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.fixture
def write_model(models_dir: Path) -> Callable[[str, str], Path]:
    """Writes a model folder: the body of a class with the two methods, registered under the folder's name."""

    def write(name: str, body: str) -> Path:
        folder = models_dir / name
        folder.mkdir()
        text = (
            "import torch\nfrom torch import nn\n\n"
            "from etprof.core.model import EagerModelBase\nfrom etprof.export.registry import register_model\n\n"
            f"{textwrap.dedent(body)}\n\nregister_model({name!r}, Model)\n"
        )
        (folder / "model.py").write_text(text, encoding="utf-8")
        return folder

    return write
