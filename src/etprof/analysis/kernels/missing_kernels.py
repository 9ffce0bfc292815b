"""Why an operator did not execute an extension: which kernels exist for it, by the table of coverage."""

from etprof.core.coverage import Coverage, CoverageRule
from etprof.core.extensions import Extension
from etprof.core.report import OperatorKernels


def find_rule(coverage: Coverage, name: str, instruction_class: str, version: str) -> CoverageRule | None:
    return next((rule for rule in coverage.get((instruction_class, version), ()) if rule.pattern.search(name)), None)


def explain(row: OperatorKernels, coverage: Coverage, extension: Extension, version: str) -> str:
    """The likely reason, as a phrase; empty where neither the record nor the table says anything."""
    label = " or ".join(extension.classes)
    if not row.delegated:
        return f"not delegated: portable operators have no {label} kernels"
    known = {known_version for known_class, known_version in coverage if known_class in extension.classes}
    if not known or not version:
        return ""
    # The table of any one class stands for all: which kernels are there is a question of the data type.
    tables = (find_rule(coverage, row.name, each, version) for each in extension.classes)
    rule = next((found for found in tables if found), None)
    if rule is None:
        what = "this operator" if version in known else f"executorch {version}"
        return f"{what} is not in the coverage table"
    if not rule.covered:
        return f"executorch {version} has no {label} kernel for it: {rule.why}"
    if row.selected:
        return f"its packed type {row.selected} was selected, but no {label} kernel was sampled"
    return f"there is a kernel for it, but it was not selected: {rule.why}"
