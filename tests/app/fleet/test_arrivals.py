"""A run that arrives is checked as a whole and put in its place once."""

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from etprof.app.fleet.arrivals import take_in
from etprof.app.fleet.parcels import Parcel, build_parcel
from etprof.app.runs import validate_run
from etprof.core.errors import StoreError
from etprof.core.fleet import FleetDevice, JobAnswer, JobEnd
from etprof.core.layout import MANIFEST, METRICS
from etprof.store.plan_paths import change_plan_paths
from etprof.store.run_archive import pack_folder
from etprof.store.session_file import load_session
from scripted_device import a_runnable_plan, run_scripted

DEVICE = FleetDevice("local@board", "tcp://127.0.0.1:1", frozenset(), "", "", "")


@dataclass(frozen=True)
class Sent:
    """A job's folder on a worker after its run, and what the client knows of it."""

    parcel: Parcel
    folder: Path

    def pack(self) -> tuple[JobAnswer, bytes]:
        archive = io.BytesIO()
        pack_folder(self.folder / "run", archive)
        content = archive.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        return JobAnswer(JobEnd.DONE, size=len(content), sha256=digest, head=content), content

    def take_in(self, target: Path) -> int:
        answer, content = self.pack()
        return take_in(self.parcel, target, DEVICE, answer, [content[:3000], content[3000:]])


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    return send(tmp_path)


def send(tmp_path: Path, on: str = "well") -> Sent:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    parcel = build_parcel(a_runnable_plan(here, blocks=2, on=on), here / "plan.json")
    for place, source in parcel.places.items():
        (there / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, there / place)
    run_scripted(change_plan_paths(parcel.plan, lambda path: there / path))
    return Sent(parcel, there)


def test_it_is_as_if_it_had_been_measured_here(sent: Sent, tmp_path: Path) -> None:
    target = tmp_path / "out" / "plan" / "board"
    assert sent.take_in(target) == 0
    assert validate_run(target, deep=True) == []
    session = load_session(target)
    assert session.plan.model == tmp_path / "here" / "model.pte"
    assert session.plan.output_root == target
    assert session.plan_path == tmp_path / "here" / "plan.json"
    assert session.device.name == "local@board"
    assert [path.name for path in target.parent.iterdir()] == ["board"]


def test_a_second_arrival_changes_nothing(sent: Sent, tmp_path: Path) -> None:
    target = tmp_path / "out" / "plan" / "board"
    sent.take_in(target)
    before = (target / METRICS).stat()
    metrics = json.loads((sent.folder / "run" / METRICS).read_text())
    metrics["results"][0]["duration_s"] += 1
    (sent.folder / "run" / METRICS).write_text(json.dumps(metrics))
    assert sent.take_in(target) == 0
    assert (target / METRICS).stat() == before
    assert [path.name for path in target.parent.iterdir()] == ["board"]


def test_bytes_that_were_lost_on_the_way_are_noticed(sent: Sent, tmp_path: Path) -> None:
    answer, content = sent.pack()
    changed = content[:-2000] + b"x" + content[-1999:]
    for parts in ([content[:-1]], [changed], [content, b"more"], []):
        with pytest.raises(StoreError, match="other bytes"):
            take_in(sent.parcel, tmp_path / "out" / "run", DEVICE, answer, parts)
    assert not (tmp_path / "out" / "run").exists()


def test_a_run_that_is_not_whole_is_refused(sent: Sent, tmp_path: Path) -> None:
    next((sent.folder / "run").glob("*/*.etdump")).write_bytes(b"no trace")
    with pytest.raises(StoreError, match="is not whole"):
        sent.take_in(tmp_path / "out" / "run")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_run_of_another_model_is_refused(sent: Sent, tmp_path: Path) -> None:
    (tmp_path / "here" / "model.pte").write_bytes(b"another")
    with pytest.raises(StoreError, match="not the file that was measured"):
        sent.take_in(tmp_path / "out" / "run")


def test_a_run_with_failed_blocks_is_kept_with_their_number(tmp_path: Path) -> None:
    assert send(tmp_path, on="crash").take_in(tmp_path / "out" / "run") == 2


def test_a_manifest_that_leads_elsewhere_is_refused(sent: Sent, tmp_path: Path) -> None:
    manifest = json.loads((sent.folder / "run" / MANIFEST).read_text())
    manifest["plan"]["experiments"][0]["name"] = "../../outside"
    (sent.folder / "run" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError):
        sent.take_in(tmp_path / "out" / "run")


def test_the_size_that_was_announced_is_the_most_that_is_taken(sent: Sent, tmp_path: Path) -> None:
    answer, _ = sent.pack()

    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(1 << 20)

    with pytest.raises(StoreError, match="other bytes"):
        take_in(sent.parcel, tmp_path / "out" / "run", DEVICE, answer, endless())
