"""A model that has a name: where it comes from, what it needs, and why it cannot be exported here, if so."""

from dataclasses import dataclass
from typing import Any

MODELS_FOLDER = "models folder"
PROGRAM = "program"
PACKAGE = "etprof"
WHEEL = "executorch wheel"


@dataclass(frozen=True)
class ModelEntry:
    """`problem` says why it cannot be exported here; it is empty when it can.

    The class is `model_class`, or `class_name` in the module `location`, which is then imported when it is needed.
    `is_offered` is false for examples of the wheel that are known to need weights or packages of their own.
    """

    name: str
    origin: str
    location: str
    requires: tuple[str, ...] = ()
    description: str = ""
    problem: str = ""
    model_class: Any = None
    class_name: str = ""
    source_sha256: str = ""
    is_offered: bool = True

    @property
    def place(self) -> str:
        """Where it comes from, in a few words."""
        return self.location if self.origin == MODELS_FOLDER else self.origin
