"""The record torch keeps of where each node of a graph came from, shared by the nodes instead of copied for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from etprof.export.patching import replaced


@contextmanager
def share_provenance() -> Iterator[None]:
    """For as long as a graph is lowered: up to a seventh of that time would go into copies.

    torch copies a node's record, which every pass makes longer, whenever it makes a node from that one. Nothing changes
    a record once it is made, so the copy may be the record itself. `bench/export.py` measures the difference.
    """
    import torch.fx.traceback

    def share(self: Any, _: dict[int, Any]) -> Any:
        return self

    record = getattr(torch.fx.traceback, "NodeSource", None)
    if record is None:
        # A torch without it has nothing to copy.
        yield
        return
    with replaced(record, "__deepcopy__", share, added=True):
        yield
