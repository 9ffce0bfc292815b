"""Sessions of earlier versions brought up to the present one, a step at a time.

A stored field is a field of its dataclass, one more step here, and a recorded file of the version before in
tests/data/sessions.
"""

from collections.abc import Callable
from typing import Any

# 1: the first.
# 2: `reports` lists the report files that were written; `export_meta` is null where there was none; a result has
#    `method_name`.
# 3: `runner_sha256` and `prepared` identify what executed; a schedule has `equivalence_bound`; a pair has thread
#    counts, a plan `method` and `input_shapes`, a session `state`, a result `cpu_time`; `frequencies_khz` has the
#    number of each core; blocks with the same outputs share their files; a device has `sme_units` and
#    `performance_cores`.
# 4: a plan has `advice_off`, a result `has_debug_log`, a session `plan_path`.
# 5: an experiment has a program of its own (`model`, `method`, `inputs`, `input_shapes`, `runtime`), a plan `runtime`;
#    `programs` has what was known once of a session: `model_sha256`, `inputs_sha256`, `export_meta`, `state`;
#    a session has `exploration` and `dropped`; a plan, an experiment and a program have `workload`, a result `steps`
#    and `sequences_agree`; an experiment has `load_options`, a schedule `page_cache`, a result `stages`,
#    `planned_bytes` and `cached_share`; a program's record has `weight_bytes` and `state_bytes`.
SCHEMA_VERSION = 5

_REPORTS_OF_1 = ("report.md", "report.html", "analysis_summary.json", "report.csv", "trace.json")


def upgrade_to_2(manifest: dict[str, Any] | None, metrics: dict[str, Any] | None) -> None:
    if manifest is not None:
        manifest["reports"] = list(_REPORTS_OF_1) if manifest["stop_reason"] else []
        manifest["export_meta"] = manifest["export_meta"] or None
    if metrics is not None:
        for result in metrics["results"]:
            result["method_name"] = ""


def upgrade_to_3(manifest: dict[str, Any] | None, metrics: dict[str, Any] | None) -> None:
    """Every field that version 3 added has the value that says "not known then"."""
    if manifest is not None:
        manifest |= {"runner_sha256": {}, "prepared": [], "state": []}
        manifest["plan"] |= {"method": "", "input_shapes": []}
        manifest["device"] |= {"sme_units": None, "performance_cores": None}
        # What the verdicts of that version took for no difference, noise aside.
        manifest["plan"]["schedule"]["equivalence_bound"] = 0.02
        for pair in manifest["plan"]["pairs"]:
            pair |= {"baseline_threads": None, "candidate_threads": None}
    if metrics is not None:
        for result in metrics["results"]:
            result["cpu_time"] = None
            # They had no numbers, and were read before the block had begun.
            for state in ("cpu_before", "cpu_after"):
                result[state]["frequencies_khz"] = {}


def upgrade_to_4(manifest: dict[str, Any] | None, metrics: dict[str, Any] | None) -> None:
    if manifest is not None:
        manifest["plan"]["advice_off"] = []
        manifest["plan_path"] = None
    if metrics is not None:
        for result in metrics["results"]:
            result["has_debug_log"] = False


def upgrade_to_5(manifest: dict[str, Any] | None, metrics: dict[str, Any] | None) -> None:
    """Every run had one program, as its plan names it."""
    if metrics is not None:
        for result in metrics["results"]:
            result |= {"steps": "", "sequences_agree": None}
            result |= {"stages": [], "planned_bytes": None, "cached_share": None}
    if manifest is None:
        return
    plan = manifest["plan"]
    plan |= {"runtime": "executorch", "workload": None}
    plan["schedule"]["page_cache"] = "as is"
    program = {key: plan[key] for key in ("model", "method", "inputs", "input_shapes", "runtime", "workload")}
    known = {key: manifest.pop(key) for key in ("model_sha256", "inputs_sha256", "export_meta", "state")}
    names = [experiment["name"] for experiment in plan["experiments"]]
    size = known["export_meta"]["pte"]["bytes"] if known["export_meta"] else None
    record = {"program": program, "experiments": names, **known, "reference": [], "file_bytes": size}
    record |= {"weight_bytes": None, "state_bytes": None}
    manifest["programs"] = [record]
    manifest |= {"exploration": None, "dropped": []}
    for experiment in plan["experiments"]:
        experiment |= {"model": None, "method": "", "inputs": [], "input_shapes": [], "runtime": "", "workload": None}
        experiment["load_options"] = []


UPGRADES: dict[int, Callable[[dict[str, Any] | None, dict[str, Any] | None], None]] = {
    2: upgrade_to_2,
    3: upgrade_to_3,
    4: upgrade_to_4,
    5: upgrade_to_5,
}


def upgrade(manifest: dict[str, Any], metrics: dict[str, Any], versions: tuple[int, int]) -> None:
    """Changes both in place to the present version; a file that has a step behind it already is None to that step.

    Their versions may differ: a report that is made again is noted in the manifest, and metrics are never touched.
    """
    for step in range(min(versions) + 1, SCHEMA_VERSION + 1):
        UPGRADES[step](manifest if versions[0] < step else None, metrics if versions[1] < step else None)
