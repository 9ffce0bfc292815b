"""Sharing the record of where nodes came from saves time and changes nothing that is written."""

import json
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from etprof.core.model import Artifact
from etprof.export import exporter
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.provenance import share_provenance
from shared_exports import MODELS, SharedExports

# How the record's maps lead from the runtime back to the model; they are made from the provenance of nodes.
MAPS = ("debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map")


def read_maps(artifact: Artifact) -> dict[str, Any]:
    with zipfile.ZipFile(f"{artifact.pte}.etrecord") as record:
        return {name: json.loads(record.read(name)) for name in MAPS}


def test_an_export_is_the_same_with_copies(
    exported: SharedExports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = exported("toy_cnn")
    monkeypatch.setattr(exporter, "share_provenance", nullcontext)
    copied = export_model(ExportRequest("toy_cnn", tmp_path, models_dir=MODELS))
    assert copied.pte.read_bytes() == shared.pte.read_bytes()
    assert read_maps(copied) == read_maps(shared)
    assert read_maps(copied)["debug_handle_map"]


@pytest.mark.usefixtures("libraries")
def test_nodes_share_their_history_only_inside() -> None:
    from copy import deepcopy

    from torch.fx.traceback import NodeSource

    record = NodeSource(None, "a pass")
    with share_provenance():
        assert deepcopy([record])[0] is record
    assert deepcopy([record])[0] is not record


@pytest.mark.usefixtures("libraries")
def test_a_torch_without_that_record_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.fx.traceback

    monkeypatch.delattr(torch.fx.traceback, "NodeSource")
    with share_provenance():
        assert not hasattr(torch.fx.traceback, "NodeSource")
