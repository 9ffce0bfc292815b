"""Whether a trace comes from an emulated device, whose times mean nothing."""

from functools import cache
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError
from etprof.core.layout import MANIFEST
from etprof.store.json_file import read_json


def was_emulated(*traces: Path) -> bool:
    """Whether one of the traces lies in the folder of a run on an emulated device, as the nearest manifest says."""
    read = cache(_read_manifest)
    nearest = (next(filter(None, map(read, trace.absolute().parents[:2])), None) for trace in traces)
    return any(_is_emulated(manifest) for manifest in nearest)


def _read_manifest(folder: Path) -> Any:
    """None where there is none, or another program's: a trace may lie anywhere."""
    try:
        return read_json(folder / MANIFEST)
    except StoreError:
        return None


def _is_emulated(manifest: Any) -> bool:
    device = manifest.get("device") if isinstance(manifest, dict) else None
    return isinstance(device, dict) and device.get("times_are_real") is False
