"""Sessions of earlier versions brought up to the present one, a step at a time.

A stored field is a field of its dataclass, one more step here, and a recorded file of the version before in
tests/data/sessions.
"""

from collections.abc import Callable
from typing import Any

# 1: the first.
# 2: `reports` lists the report files that were written; `export_meta` is null where there was none; a result has
#    `method_name`.
SCHEMA_VERSION = 2

_REPORTS_OF_1 = ("report.md", "report.html", "analysis_summary.json", "report.csv", "trace.json")


def upgrade_to_2(manifest: dict[str, Any] | None, metrics: dict[str, Any] | None) -> None:
    if manifest is not None:
        manifest["reports"] = list(_REPORTS_OF_1) if manifest["stop_reason"] else []
        manifest["export_meta"] = manifest["export_meta"] or None
    if metrics is not None:
        for result in metrics["results"]:
            result["method_name"] = ""


UPGRADES: dict[int, Callable[[dict[str, Any] | None, dict[str, Any] | None], None]] = {
    2: upgrade_to_2,
}


def upgrade(manifest: dict[str, Any], metrics: dict[str, Any], versions: tuple[int, int]) -> None:
    """Changes both in place to the present version; a file that has a step behind it already is None to that step.

    Their versions may differ: a report that is made again is noted in the manifest, and metrics are never touched.
    """
    for step in range(min(versions) + 1, SCHEMA_VERSION + 1):
        UPGRADES[step](manifest if versions[0] < step else None, metrics if versions[1] < step else None)
