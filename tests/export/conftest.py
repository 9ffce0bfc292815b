"""Folders of small models, written by the tests that export them."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest


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
