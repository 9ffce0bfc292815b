"""The scaffold of a new model."""

from pathlib import Path

import pytest

from etprof.core.errors import UsageError
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.scaffold import write_scaffold


@pytest.mark.usefixtures("libraries")
def test_a_scaffold_exports_as_it_stands(tmp_path: Path) -> None:
    write_scaffold("my_net", tmp_path / "models")
    artifact = export_model(ExportRequest("my_net", tmp_path / "out", models_dir=tmp_path / "models"))
    assert artifact.pte.is_file()
    assert artifact.meta.delegation.partitions == 1


@pytest.mark.parametrize("name", ["My-Net", "1net", "a/b", "", ".."])
def test_a_name_that_is_not_an_identifier_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a valid model name"):
        write_scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = write_scaffold("my_net", tmp_path)
    (folder / "model.py").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_scaffold("my_net", tmp_path)
    assert (folder / "model.py").read_text() == "mine"


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("name", ["mv2", "toy_cnn"])
def test_the_name_of_a_shipped_model_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a model that is there already"):
        write_scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
