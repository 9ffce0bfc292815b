"""Why an operator did not execute an extension: which kernels exist for it, from a table kept as data by version."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from etprof.core.report import OperatorKernels

_TABLE = Path(__file__).with_name("kernel_coverage.json")
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class CoverageRule:
    """Operators whose recorded name matches, and whether there is a kernel for them; `why` ends a sentence."""

    pattern: re.Pattern[str]
    covered: bool
    why: str


@cache
def load_coverage() -> dict[tuple[str, str], tuple[CoverageRule, ...]]:
    """Rules by extension class and version of ExecuTorch; the first that matches holds."""
    content = json.loads(_TABLE.read_text(encoding="utf-8"))
    assert content["schema_version"] == SCHEMA_VERSION
    return {
        (table["extension"], version): tuple(
            CoverageRule(re.compile(rule["operator"]), rule["covered"], rule["why"]) for rule in table["rules"]
        )
        for table in content["tables"]
        for version in table["executorch"]
    }


def find_rule(name: str, extension: str, version: str) -> CoverageRule | None:
    rules = load_coverage().get((extension, version), ())
    return next((rule for rule in rules if rule.pattern.search(name)), None)


def explain(row: OperatorKernels, extension: str, version: str) -> str:
    """The likely reason, as a phrase; empty where neither the record nor the table says anything."""
    if not row.delegated:
        return f"not delegated: portable operators have no {extension} kernels"
    known = {known_version for known_extension, known_version in load_coverage() if known_extension == extension}
    if not known or not version:
        return ""
    rule = find_rule(row.name, extension, version)
    if rule is None:
        what = "this operator" if version in known else f"executorch {version}"
        return f"the coverage table does not know {what}"
    if not rule.covered:
        return f"executorch {version} has no {extension} kernel for it: {rule.why}"
    if row.selected:
        return f"its packed type {row.selected} was selected, but no {extension} kernel was met"
    return f"there is a kernel for it, but it was not selected: {rule.why}"
