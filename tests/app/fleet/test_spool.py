"""Files reach a spool whole or not at all, and no name leads out of it."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_plan
from etprof.app.fleet.orders import JobOrder
from etprof.app.fleet.spool import FilePart, Spool
from etprof.core.errors import StoreError
from etprof.core.fleet import FileToSend

CONTENT = b"abc" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
SENDER, OTHER = "1" * 32, "2" * 32


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(tmp_path / "spool")
    spool.prepare()
    return spool


def send(spool: Spool, content: bytes = CONTENT, sender: str = SENDER) -> None:
    spool.add_part(FilePart(DIGEST, sender, 0, content[:2000], is_last=False))
    spool.add_part(FilePart(DIGEST, sender, 2000, content[2000:], is_last=True))


def an_order(place: str, job: str = "a" * 32) -> JobOrder:
    return JobOrder(job, "local", a_plan(), (FileToSend(place, DIGEST, len(CONTENT), True),), "test", "topic")


def test_a_file_is_there_once_its_last_part_is(spool: Spool) -> None:
    order = an_order("files/0/runner")
    spool.add_part(FilePart(DIGEST, SENDER, 0, CONTENT[:2000], is_last=False))
    assert spool.find_missing(order.files) == (DIGEST,)
    send(spool)
    assert spool.find_missing(order.files) == ()
    placed = spool.open_job(order) / "files/0/runner"
    assert placed.read_bytes() == CONTENT
    assert os.access(placed, os.X_OK)


def test_a_job_without_files_has_a_folder(spool: Spool) -> None:
    order = replace(an_order("files/0/x"), files=())
    assert spool.open_job(order).is_dir()
    assert spool.open_job(order).is_dir()


def test_two_who_send_the_same_file_do_not_mix(spool: Spool) -> None:
    spool.add_part(FilePart(DIGEST, OTHER, 0, b"half", is_last=False))
    send(spool)
    assert spool.find_missing(an_order("files/0/x").files) == ()


def test_other_bytes_than_those_of_the_digest_are_refused(spool: Spool) -> None:
    with pytest.raises(StoreError, match="other bytes"):
        send(spool, CONTENT[:-1] + b"x")
    assert spool.find_missing(an_order("files/0/x").files) == (DIGEST,)


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "", "A" * 32, "a" * 31])
def test_no_name_leads_out_of_it(spool: Spool, name: str) -> None:
    with pytest.raises(StoreError):
        spool.read_part(name, 0)
    with pytest.raises(StoreError):
        spool.forget(name)
    send(spool)
    with pytest.raises(StoreError):
        spool.open_job(an_order("files/0/x", job=name))


@pytest.mark.parametrize("place", ["../outside", "/tmp/outside", "files/../../outside"])
def test_no_place_leads_out_of_a_job(spool: Spool, place: str) -> None:
    send(spool)
    with pytest.raises(StoreError, match="outside of the job's folder"):
        spool.open_job(an_order(place))


def test_a_finished_run_is_packed_read_and_forgotten(spool: Spool) -> None:
    send(spool)
    order = an_order("files/0/x")
    (spool.open_job(order) / "run").mkdir()
    size, digest = spool.pack(order.job)
    assert hashlib.sha256(spool.read_part(order.job, 0)).hexdigest() == digest
    assert len(spool.read_part(order.job, 0)) == size
    spool.forget(order.job)
    assert not list((spool.root / "jobs").iterdir())


def test_what_nobody_came_back_for_is_removed_after_a_month(spool: Spool) -> None:
    send(spool)
    folder = spool.open_job(an_order("files/0/x"))
    spool.prepare()
    assert folder.exists()
    for path in (folder, spool.root / "files" / DIGEST):
        os.utime(path, (0, 0))
    spool.prepare()
    assert not list((spool.root / "jobs").iterdir())
    assert not list((spool.root / "files").iterdir())


def test_only_its_owner_can_look_into_it(spool: Spool) -> None:
    assert spool.root.stat().st_mode & 0o077 == 0
