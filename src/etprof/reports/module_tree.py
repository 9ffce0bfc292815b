"""The time of a model by its modules: a tree whose boxes are as wide as their time, and the same as rows of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from etprof.core.categories import DELEGATE_OVERHEAD
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.rows import NO_MODULE
from etprof.core.units import format_count, format_ms, format_percent, format_ratio
from etprof.reports.palette import Colour, category_colour

# Boxes below this part of the whole are too narrow to be seen, rows below it too short to be read about.
_SMALLEST_BOX, _SMALLEST_ROW = 0.001, 0.005
_LABELLED_BOX = 0.06
_MOST_ROWS = 150
_OVERHEAD = "delegate and framework overhead"
# What an inserted operator's place begins with.
_BESIDE = ("before ", "after ")
# From which speed-up on a box has which colour; the first is that of modules that became slower.
_SPEEDUPS = (
    (0.0, "slower", Colour("#f4a582", "#111111")),
    (0.97, "within 3 %", Colour("#d9d9d9", "#111111")),
    (1.03, "up to 1.5x", Colour("#c7e0ef", "#111111")),
    (1.5, "1.5x to 3x", Colour("#7fb8da", "#111111")),
    (3.0, "3x and more", Colour("#2c7fb8", "#ffffff")),
)
_UNKNOWN = Colour("#ffffff", "#111111")


class Timed(NamedTuple):
    """An operator, or the overhead: where it belongs, and its time before and after; None on a side without it."""

    path: str
    category: str
    before_ms: float | None
    after_ms: float


@dataclass(frozen=True)
class ModuleBox:
    """A module with all that is in it; `start` and `width` are parts of the whole, as of now."""

    path: str
    name: str
    depth: int
    start: float
    width: float
    before_ms: float | None
    after_ms: float
    operators: int
    category: str

    @property
    def speedup(self) -> float | None:
        return self.before_ms / self.after_ms if self.before_ms and self.after_ms else None

    @property
    def label(self) -> str:
        """With its share where the box is wide enough for it."""
        return f"{self.name} {format_percent(self.width, 0)}" if self.width >= _LABELLED_BOX else self.name

    @property
    def hint(self) -> str:
        was = f"{format_ms(self.before_ms)} before, " if self.before_ms is not None else ""
        gain = f", {format_ratio(self.speedup)}" if self.speedup else ""
        return (
            f"{self.path or self.name}: {was}{format_ms(self.after_ms)} ({format_percent(self.width)}){gain}; "
            f"mostly {self.category}; {format_count(self.operators, 'operator')}"
        )

    @property
    def colours(self) -> tuple[Colour, Colour]:
        """By category, and by speed-up."""
        speedup = self.speedup
        fits = [colour for least, _, colour in _SPEEDUPS if speedup is not None and speedup >= least]
        return category_colour(self.category), fits[-1] if fits else _UNKNOWN


@dataclass(frozen=True)
class ModuleTree:
    """`boxes` come in the order of the model, each before what is in it."""

    title: str
    names: tuple[str, ...]
    boxes: tuple[ModuleBox, ...]

    @property
    def drawn(self) -> list[ModuleBox]:
        return [box for box in self.boxes if box.width >= _SMALLEST_BOX]

    @property
    def depth(self) -> int:
        return 1 + max(box.depth for box in self.drawn)

    @property
    def rows(self) -> list[ModuleBox]:
        return [box for box in self.boxes if box.width >= _SMALLEST_ROW][:_MOST_ROWS]

    @property
    def categories(self) -> list[str]:
        return list(dict.fromkeys(box.category for box in self.drawn))

    @property
    def speedups(self) -> list[tuple[str, str]]:
        """Of the colours by speed-up: what each stands for; none where nothing is compared."""
        known = any(box.speedup for box in self.boxes)
        return [(text, colour.fill) for _, text, colour in _SPEEDUPS] if known else []


@dataclass
class _Node:
    name: str
    path: str
    timed: list[Timed] = field(default_factory=list)
    children: dict[str, "_Node"] = field(default_factory=dict)


def build_module_trees(report: Report) -> list[ModuleTree]:
    """One for each comparison, or for each variant where nothing is compared; only where modules are known."""
    compared = [c for c in report.comparisons if any(change.module_path for change in c.operators)]
    trees = [_build_tree(report, c.title, c.names, _list_changes(c, report.of(c.candidate))) for c in compared]
    single = [] if report.comparisons else [v for v in report.measured if any(row.module_path for row in v.operators)]
    return trees + [_build_tree(report, v.label, ("time",), _list_rows(v)) for v in single]


def _list_changes(comparison: Comparison, after: VariantReport) -> Iterator[Timed]:
    places = _list_places(after)
    in_order = sorted(comparison.operators, key=lambda change: change.identity.order)
    for change in in_order:
        path = change.module_path or places.get(str(change.identity), "")
        yield Timed(_find_module(path), change.category, change.baseline_ms, change.candidate_ms or 0.0)
    owned = [sum(getattr(change, side) or 0.0 for change in in_order) for side in ("baseline_ms", "candidate_ms")]
    whole = [sum(getattr(row, side) for row in comparison.categories) for side in ("baseline_ms", "candidate_ms")]
    before, now = (max(all_ms - own_ms, 0.0) for all_ms, own_ms in zip(whole, owned, strict=True))
    yield Timed(_OVERHEAD, DELEGATE_OVERHEAD, before, now)


def _list_rows(variant: VariantReport) -> Iterator[Timed]:
    places = _list_places(variant)
    for row in sorted(variant.operators, key=lambda row: row.identity.order):
        path = row.module_path or places.get(str(row.identity), "")
        yield Timed(_find_module(path), row.category, None, row.mean_ms)
    whole = sum(row.mean_ms for row in variant.categories)
    rest = whole - sum(row.mean_ms for row in variant.operators)
    yield Timed(_OVERHEAD, DELEGATE_OVERHEAD, None, max(rest, 0.0))


def _list_places(variant: VariantReport) -> dict[str, str]:
    return {str(change.identity): change.module_path for change in variant.layout_changes}


def _find_module(path: str) -> str:
    """An operator that the export inserted counts with the module it stands beside."""
    for word in _BESIDE:
        path = path.removeprefix(word)
    return path or NO_MODULE


def _build_tree(report: Report, title: str, names: Sequence[str], timed: Iterator[Timed]) -> ModuleTree:
    root = _Node(report.model, "")
    for each in timed:
        node = root
        node.timed.append(each)
        parts = [each.path] if each.path in (NO_MODULE, _OVERHEAD) else each.path.split(".")
        for depth, part in enumerate(parts, start=1):
            node = node.children.setdefault(part, _Node(part, ".".join(parts[:depth])))
            node.timed.append(each)
    whole_ms = sum(each.after_ms for each in root.timed)
    return ModuleTree(title, tuple(names), tuple(_list_boxes(root, whole_ms)) if whole_ms else ())


def _list_boxes(root: _Node, whole_ms: float) -> Iterator[ModuleBox]:
    waiting = [(root, 0, 0.0)]
    while waiting:
        node, depth, start_ms = waiting.pop()
        box = _build_box(node, depth, start_ms, whole_ms)
        yield box
        at_ms, placed = start_ms, []
        for child in node.children.values():
            placed.append((child, depth + 1, at_ms))
            at_ms += sum(each.after_ms for each in child.timed)
        waiting += reversed(placed)


def _build_box(node: _Node, depth: int, start_ms: float, whole_ms: float) -> ModuleBox:
    after_ms = sum(each.after_ms for each in node.timed)
    before = [each.before_ms for each in node.timed if each.before_ms is not None]
    times: dict[str, float] = {}
    for each in node.timed:
        times[each.category] = times.get(each.category, 0.0) + each.after_ms
    return ModuleBox(
        path=node.path,
        name=node.name,
        depth=depth,
        start=start_ms / whole_ms,
        width=after_ms / whole_ms,
        before_ms=sum(before) if before else None,
        after_ms=after_ms,
        operators=sum(each.path != _OVERHEAD for each in node.timed),
        category=max(times, key=lambda name: times[name]),
    )
