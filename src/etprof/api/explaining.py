"""Why a model takes the kernels it does, as tables: of a .pte that was not run, or of a run."""

from pathlib import Path

from etprof.api import StrPath
from etprof.api.tables import Table, build_table
from etprof.app.explaining import Explained, explain_target
from etprof.core.explanation import ExplainedRecord, Explanation, KernelGroup, LeftGroup, list_explained
from etprof.core.predictions import CpuLevel

_WIDTH = 100
_GROUP_COLUMNS = (
    "method", "kind", "data_type", "count", "share", "macs_share", "on_sme2", "on_i8mm", "on_dotprod", "obstacle",
    "why", "change", "modules", "shapes",
)  # fmt: skip
_LEFT_COLUMNS = (
    "method", "operator", "count", "data_type", "reason", "advice", "before", "instead", "share", "modules", "shapes",
)  # fmt: skip


class ModelExplanation:
    """Printed, it says what `etprof explain` says; its tables have the numbers."""

    def __init__(self, explained: Explained) -> None:
        self._explained = explained

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """One for each method."""
        return self._explained.explanations

    def groups(self) -> Table:
        """A row for each kind of layer that takes the same kernels for the same reason."""
        return build_table(
            _GROUP_COLUMNS, [_describe_group(each.method, group) for each in self.explanations for group in each.groups]
        )

    def left_out(self) -> Table:
        """A row for each operator that was not delegated: why, and what to write instead."""
        return build_table(
            _LEFT_COLUMNS, [_describe_left(each.method, group) for each in self.explanations for group in each.left]
        )

    def nodes(self) -> Table:
        """A row for each node of the delegate and each operator outside of it."""
        rows = [record for each in self.explanations for record in list_explained(each)]
        return build_table(ExplainedRecord._fields, rows)

    def advice(self) -> list[str]:
        """What the rules of advice found, the largest part first."""
        return self._explained.list_advice()

    def __str__(self) -> str:
        return self._explained.render(_WIDTH)

    def __repr__(self) -> str:
        names = ", ".join(f"{each.model} {each.method}".strip() for each in self.explanations)
        return f"<ModelExplanation {names}>"


def explain(target: StrPath, *, method: str = "") -> ModelExplanation:
    """Which kernels the layers of a .pte or a run take on Arm CPUs, what keeps them from better ones, and what to do.

    Nothing is run and nothing is written.
    """
    return ModelExplanation(explain_target(Path(target), method))


def _describe_group(method: str, group: KernelGroup) -> tuple[str | int | float | None, ...]:
    sme2, i8mm, dot = (group.families.get(level) for level in CpuLevel)
    return (
        method, group.kind, group.data_type, group.count, group.share, group.macs_share, sme2, i8mm, dot,
        group.obstacle, group.why, group.change, "; ".join(group.modules), "; ".join(group.shapes),
    )  # fmt: skip


def _describe_left(method: str, group: LeftGroup) -> tuple[str | int | float | None, ...]:
    return (
        method, group.operator, group.count, group.data_type, group.reason, group.advice, group.before, group.instead,
        group.share, "; ".join(group.modules), "; ".join(group.shapes),
    )  # fmt: skip
