"""Tables of a fleet: its devices, runs that go on, and those that are missing."""

from collections.abc import Sequence

from etprof.core.fleet import FleetDevice, JobResult
from etprof.reports.text_table import Column, TextTable


def build_device_table(devices: Sequence[FleetDevice]) -> TextTable:
    return TextTable(
        "",
        [
            Column("device", [each.name for each in devices]),
            Column("state", ["busy" if each.busy else "free" for each in devices]),
            Column("labels", [" ".join(sorted(each.labels)) for each in devices], 2),
            Column("about", [each.trouble or each.facts for each in devices], 1),
        ],
    )


def describe_devices(devices: Sequence[FleetDevice]) -> list[dict[str, object]]:
    return [
        {
            "device": each.name,
            "busy": bool(each.busy),
            "labels": sorted(each.labels),
            "about": each.facts,
            "trouble": each.trouble,
            "etprof": each.version,
        }
        for each in devices
    ]


def build_missing_table(results: Sequence[JobResult]) -> TextTable:
    return TextTable(
        "Without a run:",
        [
            Column("plan", [each.job.label for each in results]),
            Column("device", [each.device or "any" for each in results]),
            Column("reason", [each.reason for each in results]),
        ],
    )
