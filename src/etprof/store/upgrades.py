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


def upgrade_to_2(manifest: dict[str, Any], metrics: dict[str, Any]) -> None:
    manifest["reports"] = list(_REPORTS_OF_1) if manifest["stop_reason"] else []
    manifest["export_meta"] = manifest["export_meta"] or None
    for result in metrics["results"]:
        result["method_name"] = ""


UPGRADES: dict[int, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    2: upgrade_to_2,
}


def upgrade(manifest: dict[str, Any], metrics: dict[str, Any], version: int) -> None:
    """Changes both in place from `version` to the present one."""
    for step in range(version + 1, SCHEMA_VERSION + 1):
        UPGRADES[step](manifest, metrics)
