"""Which models can be exported: those of a models folder or a program, our own, and ExecuTorch's examples."""

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from etprof.core.errors import ExportError, UnknownNameError, UsageError
from etprof.export.dependencies import RUNTIME, TESTED, install_command, missing_packages
from etprof.export.foreign import foreign_code
from etprof.export.model_entry import MODELS_FOLDER, PROGRAM, ModelEntry
from etprof.export.shipped_models import shipped_models
from etprof.export.wheel_models import lacks_torchvision_operators, repair_torchvision

DEFAULT_MODELS_DIR = Path("model_profiling/models")

# What programs have registered; while a model folder is imported, its models stand behind them.
_registrations: list[ModelEntry] = []


def register_model(name: str, model_class: Any, *, requires: Iterable[str] = (), description: str = "") -> None:
    """Gives a class a name to be exported by, and says which packages it needs beside torch.

    A model folder calls it for its own class. Called by a program, it holds for that program, and the latest counts.
    """
    location = f"{model_class.__module__}.{model_class.__qualname__}"
    register_entry(ModelEntry(name, PROGRAM, location, tuple(requires), description, model_class=model_class))


def register_entry(entry: ModelEntry) -> None:
    _registrations.append(entry)


def find_models_dir(given: Path | None) -> Path | None:
    """The folder a user named, or the default one below the current directory when it exists."""
    if given is None:
        return DEFAULT_MODELS_DIR if DEFAULT_MODELS_DIR.is_dir() else None
    if not given.is_dir():
        raise UsageError(f"There is no models folder {given}.", hint="Create one with: etprof models new NAME")
    return given


def list_models(models_dir: Path | None) -> list[ModelEntry]:
    """Every known model; a program's and a folder's come first, and never take the place of one that is shipped."""
    shipped = shipped_models()
    taken = {entry.name for entry in shipped}
    local: list[ModelEntry] = []
    own = {entry.name: entry for entry in _registrations}
    for entry in (*own.values(), *_folder_models(models_dir)):
        clash = f"The name {entry.name!r} is taken by another model." if entry.name in taken else ""
        local.append(replace(entry, problem=entry.problem or clash))
        taken.add(entry.name)
    return [_with_missing_packages(entry) for entry in [*local, *shipped]]


def find_model(name: str, models_dir: Path | None) -> ModelEntry:
    entries = list_models(models_dir)
    named = [entry for entry in entries if entry.name == name]
    if not named:
        names = [entry.name for entry in entries if not entry.problem]
        note = "" if find_models_dir(models_dir) else f"There is no {DEFAULT_MODELS_DIR} here with your own."
        raise UnknownNameError("model", name, names, hint="List them with: etprof models list.", note=note)
    return named[0]


def describe_status(entry: ModelEntry) -> str:
    """Ready, or what to do about it."""
    missing = _missing_packages(entry)
    return f"run: {install_command(missing)}" if missing else entry.problem or "ready"


def _missing_packages(entry: ModelEntry) -> tuple[str, ...]:
    return missing_packages((*RUNTIME, *entry.requires))


def _with_missing_packages(entry: ModelEntry) -> ModelEntry:
    missing = _missing_packages(entry)
    return entry if entry.problem or not missing else replace(entry, problem=f"needs {' and '.join(missing)}")


def _folder_models(models_dir: Path | None) -> list[ModelEntry]:
    """A model for each folder with a model.py, and what the folder's own __init__.py registers."""
    if models_dir is None:
        return []
    package = f"etprof_models_{hashlib.sha256(str(models_dir.resolve()).encode()).hexdigest()[:12]}"
    listed, problem = _read_index(models_dir, package)
    folders = sorted(p for p in models_dir.iterdir() if (p / "model.py").is_file())
    found: list[ModelEntry] = [] if problem is None else [problem]
    for folder in folders:
        own = [entry for entry in listed if _is_inside(entry, f"{package}.{folder.name}")]
        found += _place(own, folder) if own else _read_folder(folder, package)
    elsewhere = [e for e in listed if not any(_is_inside(e, f"{package}.{folder.name}") for folder in folders)]
    return [*found, *_place(elsewhere, models_dir)]


def _read_index(models_dir: Path, package: str) -> tuple[list[ModelEntry], ModelEntry | None]:
    """What the models folder's own __init__.py registers, or an entry that says what is wrong with it."""
    start = len(_registrations)
    try:
        with foreign_code(f"Importing {models_dir}"), _importable_as_typed(models_dir):
            _import_beside_any_torchvision(lambda: _import_package(package, models_dir))
        # A class that its folder registers, and this file once more by the same name, is one model.
        return list({(e.name, e.location): e for e in _registrations[start:]}.values()), None
    except ExportError as error:
        # The folders below are read all the same, as parts of a package that registers nothing.
        sys.modules[package] = _new_package(package, models_dir)
        entry = ModelEntry(
            f"{models_dir.name}/__init__.py", MODELS_FOLDER, models_dir.as_posix(), _known_package(error.__cause__),
            problem=error.message,
        )  # fmt: skip
        return [], entry
    finally:
        del _registrations[start:]


def _is_inside(entry: ModelEntry, package: str) -> bool:
    return entry.location == package or entry.location.startswith(f"{package}.")


def _place(entries: Iterable[ModelEntry], folder: Path) -> list[ModelEntry]:
    digest, location = _digest_of(folder), folder.as_posix()
    return [replace(entry, origin=MODELS_FOLDER, location=location, source_sha256=digest) for entry in entries]


def _read_folder(folder: Path, package: str) -> list[ModelEntry]:
    start = len(_registrations)
    needed: tuple[str, ...] = ()
    try:
        with foreign_code(f"Importing {folder}"), _importable_as_typed(folder.parent):
            _import_beside_any_torchvision(lambda: _import_model(folder, package))
        found = _registrations[start:]
        problem = (
            "" if found else f"{folder}/model.py does not call register_model, nor does {folder.parent}/__init__.py."
        )
    except ExportError as error:
        found, problem, needed = [], error.message, _known_package(error.__cause__)
    finally:
        del _registrations[start:]
    if problem:
        digest = _digest_of(folder)
        return [
            ModelEntry(folder.name, MODELS_FOLDER, folder.as_posix(), needed, problem=problem, source_sha256=digest)
        ]
    return _place(found, folder)


def _known_package(error: BaseException | None) -> tuple[str, ...]:
    """The package that an import did not find, if it is one that models are known to need and not the user's own."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return (name,) if name in TESTED else ()


def _import_beside_any_torchvision(load: Callable[[], object]) -> None:
    try:
        load()
    except RuntimeError as error:
        if not lacks_torchvision_operators(error):
            raise
        repair_torchvision()
        load()


def _import_package(package: str, folder: Path) -> None:
    """Imports the models folder under a name of its own, so that relative imports work and equal names do not clash."""
    for name in [n for n in sys.modules if n == package or n.startswith(package + ".")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    module = sys.modules[package] = _new_package(package, folder)
    if module.__spec__ and module.__spec__.loader and (folder / "__init__.py").is_file():
        module.__spec__.loader.exec_module(module)


def _import_model(folder: Path, package: str) -> None:
    name = f"{package}.{folder.name}"
    if "." in folder.name:
        # No import statement can name it; its own relative imports work all the same.
        name = f"{package}.{folder.name.replace('.', '_')}"
        _import_package(name, folder)
    importlib.import_module(f"{name}.model")


def _new_package(package: str, folder: Path) -> ModuleType:
    start = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(package, start, submodule_search_locations=[str(folder)])
    if spec is None:
        raise ExportError(f"{folder} cannot be imported as a package.")
    return importlib.util.module_from_spec(spec)


@contextmanager
def _importable_as_typed(models_dir: Path) -> Iterator[None]:
    """In a clone, `model_profiling.models` can be imported by this name, too, as users' documents write it."""
    root = str(models_dir.resolve().parent.parent)
    if root in sys.path:
        yield
        return
    sys.path.append(root)
    try:
        yield
    finally:
        sys.path.remove(root)


def _digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()
