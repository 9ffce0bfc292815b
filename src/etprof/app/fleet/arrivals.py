"""Runs that arrive from a fleet: checked as a whole, then put in their place once, whatever arrives again."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from etprof.app.fleet.parcels import Parcel
from etprof.app.runs import validate_run
from etprof.core.errors import StoreError
from etprof.core.fleet import FleetDevice, JobAnswer
from etprof.core.run import Session
from etprof.store.json_file import unfinished_name
from etprof.store.paths import check_inside, make_folder, reason_of, sync_folder
from etprof.store.run_archive import unpack_folder
from etprof.store.session_file import has_session, load_session, save_manifest

_IN_MEMORY_BYTES = 16 << 20


def take_in(parcel: Parcel, target: Path, device: FleetDevice, answer: JobAnswer, parts: Iterable[bytes]) -> int:
    """Puts a run into `target`, unless one is there; says how many of its blocks failed."""
    if has_session(target):
        return _count_failed(load_session(target))
    with unpacked_beside(target, answer, parts) as received:
        session = _settle(parcel, received, target, device)
        put_in_place(received, target, has_session)
    return _count_failed(session)


@contextmanager
def unpacked_beside(target: Path, answer: JobAnswer, parts: Iterable[bytes]) -> Iterator[Path]:
    """A folder with what has arrived, to be checked and renamed."""
    make_folder(target.parent)
    received = unfinished_name(target)
    check_inside(received, target.parent)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as archive:
        _receive(archive, answer, parts)
        try:
            unpack_folder(archive, received)
            yield received
        finally:
            shutil.rmtree(received, ignore_errors=True)


def _receive(archive: IO[bytes], answer: JobAnswer, parts: Iterable[bytes]) -> None:
    digest, size = hashlib.sha256(), 0
    for part in parts:
        size += len(part)
        if size > answer.size:
            break
        digest.update(part)
        archive.write(part)
    if size != answer.size or digest.hexdigest() != answer.sha256:
        raise StoreError("A run arrived with other bytes than were sent.")
    archive.seek(0)


def _settle(parcel: Parcel, received: Path, target: Path, device: FleetDevice) -> Session:
    """The session with the paths of this machine and the fleet's name of the device; refused where it is not whole."""
    session = load_session(received)
    # Every machine calls itself the same; its name in the fleet tells it from others.
    name = device.name if "@" in device.name and ":" not in device.name else session.device.name
    session = replace(session, device=replace(session.device, name=name))
    session = parcel.bring_home(session, received.parent, target)
    save_manifest(received, session)
    if problems := validate_run(received, deep=True, with_failures=False):
        raise StoreError(f"A run arrived that is not whole: {problems[0]}")
    return session


def put_in_place(received: Path, target: Path, is_there: Callable[[Path], bool]) -> None:
    """Renaming a folder succeeds once: what is there already stays."""
    try:
        received.rename(target)
    except OSError as error:
        if not is_there(target):
            raise StoreError(
                f"{target} cannot be written: {reason_of(error)}.", hint="Choose another folder."
            ) from error
    sync_folder(target.parent)


def _count_failed(session: Session) -> int:
    return sum(not result.is_ok for result in session.results)
