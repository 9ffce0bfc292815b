"""What a fleet was asked to do, kept beside its runs, so that it can go on where it was interrupted."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError, UsageError
from etprof.core.layout import FLEET
from etprof.store.json_file import read_json, write_json

# 1: first version.
FLEET_VERSION = 1


@dataclass(frozen=True)
class StoredJob:
    """A job of a fleet's run: where its run belongs, and on which device, empty where any will do."""

    id: str
    plan: int
    device: str
    number: int
    folder: str


@dataclass(frozen=True)
class StoredFleet:
    """`plans` are the digests of the plans with their files; `wanted` is what chose the devices."""

    id: str
    created_at: str
    command: str
    wanted: str
    plans: tuple[str, ...]
    jobs: tuple[StoredJob, ...]


def save_fleet(folder: Path, fleet: StoredFleet) -> None:
    content: dict[str, Any] = {
        "schema_version": FLEET_VERSION,
        "id": fleet.id,
        "created_at": fleet.created_at,
        "command": fleet.command,
        "wanted": fleet.wanted,
        "plans": list(fleet.plans),
        "jobs": [vars(job) for job in fleet.jobs],
    }
    write_json(folder / FLEET, content, durable=True)


def has_fleet(folder: Path) -> bool:
    return (folder / FLEET).exists()


def load_fleet(folder: Path) -> StoredFleet:
    path = folder / FLEET
    content = read_json(path, hint="Name the folder that `etprof fleet run` wrote to.")
    try:
        version = content["schema_version"]
        if version != FLEET_VERSION:
            raise StoreError(f"{path} has version {version}; this etprof reads version {FLEET_VERSION}.")
        jobs = tuple(StoredJob(**job) for job in content["jobs"])
        told = {name: str(content[name]) for name in ("id", "created_at", "command", "wanted")}
        return StoredFleet(**told, plans=tuple(content["plans"]), jobs=jobs)
    except (LookupError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is not what a fleet's run leaves.", hint="Choose another folder.") from error


def refuse_other_plans(fleet: StoredFleet, plans: Sequence[str], folder: Path) -> None:
    if fleet.plans != tuple(plans):
        raise UsageError(
            f"{folder} holds the runs of other plans, or of files that have changed since.",
            hint="Name the same plans, or choose another folder with --out.",
        )
