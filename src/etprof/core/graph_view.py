"""The graph of a model for a graph viewer, and the measured quantities to lay over it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from etprof.core.graph import TensorSpec

# The graphs that an overlay has values for. Beside these two, a delegate's own graph goes by the number of the
# instruction that calls it, and its nodes by their index.
MODULES = "modules"
PROGRAM = "program"


class Quantity(Enum):
    """What an overlay shows, in the words of its title; its name is part of the file's."""

    TIME = "time (ms)"
    SHARE = "share (%)"
    SPEEDUP = "speed-up"
    KERNELS = "kernel class"


@dataclass(frozen=True)
class ViewNode:
    """A node of the exported graph, or an operator that has no certain node in it.

    `group` is the module it comes from or is next to, or the delegate call where no module is known. `sources` are the
    nodes it reads from; between delegate calls, those that ran last before it.
    """

    id: str
    label: str
    group: str
    attributes: Mapping[str, str]
    sources: tuple[str, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()


@dataclass(frozen=True)
class Overlay:
    """One quantity of one variant, or of one against another: graph to node to value.

    In MODULES a node goes by its id. In PROGRAM it is an instruction of the program and goes by its number.
    """

    quantity: Quantity
    title: str
    stem: str
    values: Mapping[str, Mapping[str, float | str]]


@dataclass(frozen=True)
class GraphView:
    """One method of a model; `model` is the name of its file."""

    model: str
    method: str
    nodes: tuple[ViewNode, ...]
    overlays: tuple[Overlay, ...]
