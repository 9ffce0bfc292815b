"""Models are found, named and kept apart; a broken folder hurts nobody else."""

import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.model import EagerModelBase
from etprof.export import dependencies
from etprof.export.model_entry import PACKAGE, ModelEntry
from etprof.export.registry import describe_status, find_model, find_models_dir, list_models
from parts import need

Write = Callable[[str, str], Path]
pytestmark = pytest.mark.usefixtures("libraries")
EMPTY = "class Model(EagerModelBase):\n    pass"


def test_a_folder_with_a_model_file_is_listed(models_dir: Path, write_model: Write) -> None:
    folder = write_model("mine", EMPTY)
    entry = find_model("mine", models_dir)
    assert (entry.origin, entry.location, entry.problem) == ("models folder", folder.as_posix(), "")


def test_a_folder_that_fails_to_import_is_listed_with_its_reason(models_dir: Path, write_model: Write) -> None:
    write_model("broken", "import no_such_module\n" + EMPTY)
    write_model("fine", EMPTY)
    problems = {entry.name: entry.problem for entry in list_models(models_dir)}
    assert "No module named 'no_such_module'" in problems["broken"]
    assert problems["fine"] == ""


def test_an_import_of_a_known_package_that_is_missing_is_a_command(
    models_dir: Path, write_model: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    without = {name: version for name, version in dependencies.TESTED.items() if name != "timm"}
    monkeypatch.setattr(dependencies, "installed_version", without.get)
    write_model("mine", "import timm\n" + EMPTY)
    entry = find_model("mine", models_dir)
    assert entry.requires == ("timm",)
    assert describe_status(entry) == f"run: pip install timm=={dependencies.TESTED['timm']}"


def test_a_model_may_import_a_torchvision_that_needs_repair(
    models_dir: Path, write_model: Write, tmp_path: Path
) -> None:
    """Its import fails once, as that of a torchvision built for CUDA does beside a CPU torch."""
    need(find_spec("torchvision") is not None, "torchvision is not installed")
    seen = tmp_path / "seen"
    fail_once = f"""
from pathlib import Path
if not Path({str(seen)!r}).exists():
    Path({str(seen)!r}).touch()
    raise RuntimeError("operator torchvision::nms does not exist")
"""
    write_model("mine", fail_once + EMPTY)
    assert find_model("mine", models_dir).problem == ""


def test_a_folder_that_registers_nothing_says_so(models_dir: Path) -> None:
    (models_dir / "silent").mkdir()
    (models_dir / "silent" / "model.py").write_text("")
    assert "does not call register_model" in find_model("silent", models_dir).problem


@pytest.mark.parametrize("name", ["mv2", "toy_cnn"])
def test_a_folder_does_not_take_the_place_of_a_shipped_model(models_dir: Path, write_model: Write, name: str) -> None:
    write_model(name, EMPTY)
    first = next(entry for entry in list_models(models_dir) if entry.name == name)
    assert "taken" in first.problem


@pytest.mark.parametrize("folder", [None, "models_dir"])
def test_the_demonstration_model_needs_no_folder(folder: str | None, models_dir: Path) -> None:
    entry = find_model("toy_cnn", models_dir if folder else None)
    assert (entry.origin, entry.place, entry.problem, entry.is_offered) == (PACKAGE, "etprof", "", True)


def test_two_folders_do_not_share_a_name(models_dir: Path, write_model: Write) -> None:
    write_model("one", EMPTY + "\n\nregister_model('twin', Model)")
    write_model("two", EMPTY + "\n\nregister_model('twin', Model)")
    assert sum("taken" in entry.problem for entry in list_models(models_dir) if entry.name == "twin") == 1


def test_modules_beside_the_model_are_imported_relatively(models_dir: Path, write_model: Write) -> None:
    folder = write_model("mine", "from .parts import WIDTH\n\nclass Model(EagerModelBase):\n    width = WIDTH")
    (folder / "parts.py").write_text("WIDTH = 7\n")
    assert find_model("mine", models_dir).model_class.width == 7


@pytest.mark.parametrize(
    "base", ["from ..model_base import EagerModelBase", "from model_profiling.models.model_base import EagerModelBase"]
)
def test_a_model_may_be_registered_in_the_folders_own_init(tmp_path: Path, base: str) -> None:
    """As the users' documents have it, with the file and the base class at the places that they name."""
    models = tmp_path / "model_profiling/models"
    shutil.copytree(Path(__file__).parents[2] / "model_profiling/models", models)
    (models / "your_model").mkdir()
    (models / "your_model/__init__.py").touch()
    (models / "your_model/model.py").write_text(f"{base}\n\n\nclass YourModelClass(EagerModelBase):\n    pass\n")
    with (models / "__init__.py").open("a") as index:
        index.write("\nfrom . import your_model\nfrom .your_model.model import YourModelClass\n")
        index.write('register_model("your_model", YourModelClass)\n')
    entry = find_model("your_model", models)
    assert (entry.location, entry.problem) == ((models / "your_model").as_posix(), "")
    assert issubclass(entry.model_class, EagerModelBase)
    assert find_model("vit_tiny", models).problem == "", "a folder needs no line there"


def test_a_model_that_its_folder_registers_may_be_listed_there_too(models_dir: Path, write_model: Write) -> None:
    write_model("mine", EMPTY)
    (models_dir / "__init__.py").write_text(
        "from etprof.export.registry import register_model\nfrom .mine.model import Model\n"
        "register_model('mine', Model)\n"
    )
    (entry,) = [entry for entry in list_models(models_dir) if entry.name == "mine"]
    assert entry.problem == ""


def test_a_broken_init_is_named_and_the_folders_are_read_all_the_same(models_dir: Path, write_model: Write) -> None:
    write_model("mine", EMPTY)
    (models_dir / "__init__.py").write_text("from . import your_model\n")
    problems = {entry.name: entry.problem for entry in list_models(models_dir)}
    assert problems["mine"] == ""
    assert "your_model" in problems[f"{models_dir.name}/__init__.py"]


def test_a_folder_may_have_a_dot_in_its_name(models_dir: Path, write_model: Write) -> None:
    folder = write_model("net_v1.5", "from .parts import WIDTH\n\nclass Model(EagerModelBase):\n    width = WIDTH")
    (folder / "parts.py").write_text("WIDTH = 7\n")
    assert find_model("net_v1.5", models_dir).model_class.width == 7


def test_an_edit_changes_the_digest(models_dir: Path, write_model: Write) -> None:
    folder = write_model("mine", EMPTY)
    before = find_model("mine", models_dir).source_sha256
    with (folder / "model.py").open("a") as stream:
        stream.write("# a change\n")
    assert find_model("mine", models_dir).source_sha256 != before


def test_an_unknown_model_brings_the_nearest_names(models_dir: Path, write_model: Write) -> None:
    write_model("squeeze_net", EMPTY)
    with pytest.raises(UnknownNameError) as caught:
        find_model("sqeeze_net", models_dir)
    assert "'squeeze_net'" in caught.value.hint


def test_missing_packages_are_a_problem_of_the_entry(models_dir: Path, write_model: Write) -> None:
    write_model("mine", EMPTY + "\n\nregister_model('other', Model, requires=['no-such-package'])")
    assert find_model("other", models_dir).problem == "needs no-such-package"


def test_the_example_models_name_the_packages_they_need() -> None:
    models = Path(__file__).parents[2] / "model_profiling/models"
    assert find_model("mobilenet_v3_small", models).requires == ("torchvision",)
    assert set(find_model("edgetam_image_encoder", models).requires) == {"timm", "torchvision", "transformers"}


def test_a_models_folder_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_models_dir(None) is None
    with pytest.raises(UsageError, match="no models folder"):
        find_models_dir(tmp_path / "absent")


class TestStatus:
    def test_an_entry_without_a_problem_is_ready(self) -> None:
        assert describe_status(ModelEntry("net", PACKAGE, "net")) == "ready"

    def test_a_missing_package_is_a_command_even_where_there_is_another_problem(self) -> None:
        entry = ModelEntry("net", PACKAGE, "net", requires=("no-such-package",), problem="needs no-such-package")
        assert describe_status(entry) == "run: pip install no-such-package"

    def test_any_other_problem_is_told(self) -> None:
        assert describe_status(ModelEntry("net", PACKAGE, "net", problem="it is broken")) == "it is broken"

    def test_without_torch_and_executorch_no_model_is_ready(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
        entry = ModelEntry("net", PACKAGE, "net")
        assert describe_status(entry).startswith("run: pip install torch==")
        assert find_model("toy_cnn", None).problem == "needs torch and executorch and torchao"


def test_a_folder_without_models_of_its_own_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError) as caught:
        find_model("mobilenet_v3_small", None)
    assert caught.value.hint.endswith("There is no model_profiling/models here with your own.")
    (tmp_path / "model_profiling/models").mkdir(parents=True)
    with pytest.raises(UnknownNameError) as caught:
        find_model("mobilenet_v3_small", None)
    assert "with your own" not in caught.value.hint
