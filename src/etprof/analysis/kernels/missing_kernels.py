"""Why an operator did not execute an extension: which kernels exist for it, by the table of coverage."""

from etprof.core.coverage import Coverage, CoverageRule
from etprof.core.report import OperatorKernels


def find_rule(coverage: Coverage, name: str, extension: str, version: str) -> CoverageRule | None:
    return next((rule for rule in coverage.get((extension, version), ()) if rule.pattern.search(name)), None)


def explain(row: OperatorKernels, coverage: Coverage, extension: str, version: str) -> str:
    """The likely reason, as a phrase; empty where neither the record nor the table says anything."""
    if not row.delegated:
        return f"not delegated: portable operators have no {extension} kernels"
    known = {known_version for known_extension, known_version in coverage if known_extension == extension}
    if not known or not version:
        return ""
    rule = find_rule(coverage, row.name, extension, version)
    if rule is None:
        what = "this operator" if version in known else f"executorch {version}"
        return f"{what} is not in the coverage table"
    if not rule.covered:
        return f"executorch {version} has no {extension} kernel for it: {rule.why}"
    if row.selected:
        return f"its packed type {row.selected} was selected, but no {extension} kernel was sampled"
    return f"there is a kernel for it, but it was not selected: {rule.why}"
