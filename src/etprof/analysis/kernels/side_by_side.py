"""Two variants side by side, operator by operator: which kernels each of them executed, or registered."""

from collections.abc import Sequence
from dataclasses import dataclass

from etprof.core.errors import UsageError
from etprof.core.operators import OperatorId, pair_operators
from etprof.core.samples import KernelLine


@dataclass(frozen=True)
class ViewRow:
    """One operator; `on` and `off` are its kernels in each variant, empty where that variant does not have it."""

    operator: str
    category: str
    on: tuple[KernelLine, ...]
    off: tuple[KernelLine, ...]

    @property
    def changed(self) -> bool:
        """Whether the two variants differ in what their most sampled kernel is made of."""
        return _main_class(self.on) != _main_class(self.off)


@dataclass(frozen=True)
class KernelView:
    level: str
    rows: tuple[ViewRow, ...]


def build_kernel_view(on: Sequence[KernelLine], off: Sequence[KernelLine]) -> KernelView:
    levels = {line.level for line in (*on, *off)}
    if len(levels) != 1:
        raise UsageError(
            "One table lists executed kernels and the other registered kernels; they cannot be compared.",
            hint="Give two tables of `etprof kernels run`, or two of `etprof kernels log`.",
        )
    left, right = _group(on), _group(off)
    pairs = _pair_by_order(left, right) if all(line.identity for line in (*on, *off)) else _pair_by_name(left, right)
    rows = [_build_row(left.get(a, ()), right.get(b, ())) for a, b in pairs]
    return KernelView(levels.pop(), tuple(rows))


def _group(lines: Sequence[KernelLine]) -> dict[str, tuple[KernelLine, ...]]:
    groups: dict[str, list[KernelLine]] = {}
    for line in lines:
        groups.setdefault(line.identity or line.operator, []).append(line)
    return {key: tuple(group) for key, group in groups.items()}


def _pair_by_name(
    left: dict[str, tuple[KernelLine, ...]], right: dict[str, tuple[KernelLine, ...]]
) -> list[tuple[str, str]]:
    return [(name, name) for name in dict.fromkeys((*left, *right))]


def _pair_by_order(
    left: dict[str, tuple[KernelLine, ...]], right: dict[str, tuple[KernelLine, ...]]
) -> list[tuple[str, str]]:
    """By delegate call and order, as operators of two variants are paired everywhere; hot operators first."""
    paired = pair_operators([_Operator(lines[0]) for lines in right.values()], [_Operator(v[0]) for v in left.values()])
    pairs = [(on.identity if on else "", off.identity if off else "") for off, on in paired]

    def heat(pair: tuple[str, str]) -> int:
        return -max(
            (line.operator_samples or 0 for line in (*left.get(pair[0], ()), *right.get(pair[1], ()))), default=0
        )

    return sorted(pairs, key=heat)


class _Operator:
    """A line of a table as an operator that can be paired."""

    def __init__(self, line: KernelLine) -> None:
        self.identity, self.name = OperatorId(line.identity), line.operator


def _build_row(on: tuple[KernelLine, ...], off: tuple[KernelLine, ...]) -> ViewRow:
    first = (on or off)[0]
    return ViewRow(first.operator, first.category, on, off)


def _main_class(lines: tuple[KernelLine, ...]) -> str:
    return lines[0].instruction_class if lines else ""
