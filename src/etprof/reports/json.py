"""The report as JSON, for programs; docs/reference/report-json.md describes every field."""

import re
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from etprof.core.report import Report

# 1: the first.
# 2: arms are called variants; a comparison and a next step name variants; cancelling transposes are given in full.
# 3: what a next step saves is an estimate where `is_bound` is false; the verdict is `no difference`, within a bound.
SCHEMA_VERSION = 3
# Left to the formats for viewers of traces and of graphs: they are no results.
_PICTURES = {"tracks", "run_line", "views"}
# The types of both.
_UNUSED = (
    "Track", "Slice", "RunLine", "Counter", "GraphView", "ViewNode", "Overlay", "Quantity", "TensorSpec",
    "ExplainedNode", "ModelStep",
)  # fmt: skip
# Of workloads only: without one it is left out.
_WHERE_KNOWN = {"phases"}
# Left to `etprof explain`: a row for each node, and the advice of a model that was not run.
_EXPLAINED = {"nodes", "steps"}
# Lists of numbers, which an indented file would give a line each. No text can look so: its line breaks are escaped.
_NUMBERS = re.compile(r"\[\n\s+(-?[\d.eE+-]+(?:,\n\s+-?[\d.eE+-]+)*)\n\s+\]")


def render(report: Report) -> str:
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", _dump(report, indent=2)) + "\n"


def render_compact(report: Report) -> str:
    return _dump(report, indent=None)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of what `render` writes."""
    schema = _adapter().json_schema(mode="serialization")
    for unused in _PICTURES:
        del schema["properties"][unused]
    explanation = schema["$defs"]["Explanation"]
    for unused in _EXPLAINED:
        del explanation["properties"][unused]
    explanation["required"] = [name for name in explanation["required"] if name not in _EXPLAINED]
    for unused in _UNUSED:
        del schema["$defs"][unused]
    schema["properties"] = {"schema_version": {"const": SCHEMA_VERSION}, **schema["properties"]}
    unsure = _PICTURES | _WHERE_KNOWN
    schema["required"] = ["schema_version", *(name for name in schema["required"] if name not in unsure)]
    return schema


def _dump(report: Report, indent: int | None) -> str:
    """What is not a number becomes null."""
    unknown = {name for name in _WHERE_KNOWN if getattr(report, name) is None}
    unused: dict[str, Any] = {**dict.fromkeys(_PICTURES | unknown, True), "explanation": _EXPLAINED}
    body = _adapter().dump_json(report, indent=indent, exclude=unused).decode()
    opening, rest = body[0], body[1:]
    if indent is None:
        return f'{opening}"schema_version":{SCHEMA_VERSION},{rest}'
    return f'{opening}\n{" " * indent}"schema_version": {SCHEMA_VERSION},{rest}'


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)
