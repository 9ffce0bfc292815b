"""What a model must offer to be exported, and what an export leaves behind."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class EagerModelBase(ABC):
    """The contract of a model folder: an eager PyTorch model and inputs that represent its use.

    The method names are ExecuTorch's own, so a class written for its examples works here unchanged. All random numbers
    come from generators that the exporter has seeded: do not seed them in the model.
    """

    @abstractmethod
    def get_eager_model(self) -> Any:
        """The torch.nn.Module, with its weights in place."""

    @abstractmethod
    def get_example_inputs(self) -> tuple[Any, ...]:
        """Positional inputs of the true shapes and types; what is measured later is fed with exactly these."""

    def get_example_kwarg_inputs(self) -> Mapping[str, Any] | None:
        return None

    def get_dynamic_shapes(self) -> Any:
        """What torch.export takes as dynamic_shapes; None means that every shape is fixed."""
        return None

    def get_calibration_inputs(self, count: int) -> Iterable[tuple[Any, ...]] | None:
        """Positional inputs to calibrate a static quantisation with; None draws example inputs with other seeds."""
        return None

    def adapt_checkpoint(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Turns the content of a user's checkpoint file into the state dict of the eager model."""
        return state


@dataclass(frozen=True)
class Artifact:
    """One exported model on disk: the program, its side files, and the facts about it."""

    pte: Path
    etrecord: Path | None
    meta_path: Path
    inputs: tuple[Path, ...]
    meta: Mapping[str, Any]
    reused: bool = False
