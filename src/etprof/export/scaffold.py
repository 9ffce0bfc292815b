"""The folder `etprof models new` writes: a model that exports as it stands, to be replaced by the user's."""

import re
from pathlib import Path

from etprof.core.errors import ExportError, UsageError
from etprof.export.shipped_models import shipped_models

_INIT = '"""{title}."""\n'
_MODEL = '''"""{title}: replace the network and the inputs by your own, then run `etprof export {name}`."""

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model


class {title}(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        """Your network. Random numbers are seeded already; a checkpoint comes in by `etprof export --checkpoint`."""
        return nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1))

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        """Inputs of real shapes and ranges: the model is captured, checked and measured with them."""
        return (torch.randn(1, 3, 64, 64),)


register_model("{name}", {title}, description="say in a few words what it is")
'''


def write_scaffold(name: str, models_dir: Path) -> Path:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(
            f"{name!r} is not a valid model name.",
            hint="Use small letters, digits and underscores: etprof models new my_net",
        )
    if name in {entry.name for entry in shipped_models()}:
        raise UsageError(f"{name!r} is the name of a model that is there already.", hint="Choose another name.")
    folder = models_dir / name
    title = "".join(part.capitalize() for part in name.split("_"))
    try:
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(_INIT.format(title=title), encoding="utf-8")
        (folder / "model.py").write_text(_MODEL.format(title=title, name=name), encoding="utf-8")
    except FileExistsError as error:
        raise UsageError(
            f"{error.filename} exists already; nothing was written.", hint="Choose another name."
        ) from error
    except OSError as error:
        raise ExportError(
            f"{folder} cannot be written: {error.strerror}.",
            hint="Name another folder: etprof models new --models-dir DIR",
        ) from error
    return folder
