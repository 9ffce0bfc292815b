"""The models that need no models folder: the package's own for a first look, and the executorch wheel's examples."""

from etprof.export.model_entry import PACKAGE, ModelEntry
from etprof.export.wheel_models import wheel_models

# By module and class: a list of models does not import torch.
_DEMONSTRATION = ModelEntry(
    name="toy_cnn",
    origin=PACKAGE,
    location="etprof.export.demo.toy_cnn",
    class_name="ToyCnnModel",
    description="convolutions, GEMMs and layout changes; no extra package",
)


def shipped_models() -> list[ModelEntry]:
    return [_DEMONSTRATION, *wheel_models()]
