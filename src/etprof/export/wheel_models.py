"""The example models that ship with the executorch wheel, built without a download."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from etprof.export.dependencies import installed_version
from etprof.export.model_entry import PROGRAM, WHEEL, ModelEntry
from etprof.export.patching import environment_variable, replaced

_PACKAGE = "executorch.examples.models"
# What was tried with this version of the wheel. Everything else needs weights, a tokenizer or packages of its own.
_BUILT_OFFLINE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mul", "linear", "add", "add_mul", "softmax", "conv1d", "sdpa", "lstm"), ()),
    **dict.fromkeys(("deep_autoencoder", "ds_cnn", "mobilenet_v1_025", "resnet8", "efficient_sam"), ()),
    **dict.fromkeys(("mv2", "mv2_untrained", "mv3", "vit", "dl3", "ic3", "resnet18", "resnet50"), ("torchvision",)),
    **dict.fromkeys(("ic4", "deit_tiny"), ("torchvision", "timm")),
}


def wheel_models() -> list[ModelEntry]:
    """The wheel's own list, or nothing where ExecuTorch is not installed."""
    if installed_version("executorch") is None:
        return []
    table = importlib.import_module(_PACKAGE).MODEL_NAME_TO_MODEL
    return [_entry(name, *place) for name, place in table.items() if not place[0].startswith(_OURS)]


def _entry(name: str, module: str, class_name: str) -> ModelEntry:
    offered = name in _BUILT_OFFLINE
    return ModelEntry(
        name=name,
        origin=WHEEL,
        location=f"{_PACKAGE}.{module}",
        class_name=class_name,
        requires=_BUILT_OFFLINE.get(name, ()),
        problem="" if offered else "needs weights or packages of its own",
        is_offered=offered,
    )


_OURS = "_etprof_"


def load_model_class(entry: ModelEntry) -> type[Any]:
    """The class behind a name. One that is not ExecuTorch's own is entered into ExecuTorch's registry as well."""
    found: type[Any] = entry.model_class or getattr(importlib.import_module(entry.location), entry.class_name)
    if entry.origin != WHEEL:
        _register_with_executorch(entry.name, found)
    return found


def _register_with_executorch(name: str, model_class: type[Any]) -> None:
    # ExecuTorch's own factory imports by module name below its package: a module object under that name answers it.
    module = ModuleType(f"{_PACKAGE}.{_OURS}{name}")
    setattr(module, model_class.__name__, model_class)
    sys.modules[module.__name__] = module
    table = importlib.import_module(_PACKAGE).MODEL_NAME_TO_MODEL
    table[name] = (f"{_OURS}{name}", model_class.__name__)


def source_digest(entry: ModelEntry) -> str:
    """The digest of the model's code: a folder's was taken when it was read, a shipped one's is that of its module.

    Empty for a program's own: its class may stand in a notebook, and depend on anything there.
    """
    if entry.source_sha256 or entry.origin == PROGRAM:
        return entry.source_sha256
    spec = importlib.util.find_spec(entry.location)
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest() if spec and spec.origin else ""


class _NoWeights(dict[str, Any]):
    """What a download is answered with; checkpoints hold the state dict under a key of their own, and this is it."""

    def __missing__(self, key: str) -> "_NoWeights":
        return self


@contextmanager
def no_downloads() -> Iterator[None]:
    """While models are built, every attempt to fetch weights is answered with "no weights"."""
    import torch

    load = torch.nn.Module.load_state_dict

    def load_unless_absent(self: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        return None if isinstance(state, _NoWeights) else load(self, state, *args, **kwargs)

    def answer(*args: Any, **kwargs: Any) -> _NoWeights:
        return _NoWeights()

    with ExitStack() as stack:
        stack.enter_context(replaced(torch.nn.Module, "load_state_dict", load_unless_absent))
        stack.enter_context(replaced(torch.hub, "load_state_dict_from_url", answer))
        stack.enter_context(environment_variable("HF_HUB_OFFLINE", "1"))
        if installed_version("torchvision"):
            repair_torchvision()
            stack.enter_context(_torchvision_without_weights(answer))
            if installed_version("timm"):
                stack.enter_context(_timm_without_weights())
        yield


def _torchvision_without_weights(answer: Any) -> AbstractContextManager[Any]:
    from torchvision.models._api import WeightsEnum

    return replaced(WeightsEnum, "get_state_dict", answer)


def _timm_without_weights() -> AbstractContextManager[Any]:
    import timm.models._builder as builder

    def keep_random_weights(*args: Any, **kwargs: Any) -> None:
        return None

    return replaced(builder, "load_pretrained", keep_random_weights)


def repair_torchvision() -> None:
    """Makes a torchvision built for CUDA importable beside a CPU torch.

    Its model definitions use none of its compiled operators, but importing it registers fake versions of two of them,
    which fails where the compiled library could not be loaded.
    """
    import torch

    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if not lacks_torchvision_operators(error):
            raise
        for name in [n for n in sys.modules if n == "torchvision" or n.startswith("torchvision.")]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _kept_libraries.append(library)
        importlib.import_module("torchvision")


def lacks_torchvision_operators(error: RuntimeError) -> bool:
    return "torchvision::nms" in str(error)


# A torch.library.Library takes its operators away when it is collected.
_kept_libraries: list[Any] = []
