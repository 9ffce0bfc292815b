"""The folder of a worker: files that were sent to it, by their digests, and runs until they are fetched.

A run's folder is found by its job, so that a worker that was started again goes on with the blocks that are there. They
stay with the device's worker because a run can only go on on the same device, and because nothing is sent while it
measures.
"""

import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from etprof.app.fleet.orders import JobOrder
from etprof.app.fleet.parcels import RUN
from etprof.core.digest import file_sha256
from etprof.core.errors import StoreError
from etprof.core.fleet import FileToSend
from etprof.runner.private_folders import make_private_folder
from etprof.store.run_archive import pack_folder

PART_BYTES = 4 << 20
# What nobody has come back for in so long is removed when a worker starts.
_KEPT_S = 30 * 24 * 3600.0
_DIGEST = re.compile(r"[0-9a-f]{32,64}")
_PACKED = "run.tar"


@dataclass(frozen=True)
class FilePart:
    """A part of a file that a plan needs; two who send the same file at once do not meet."""

    digest: str
    sender: str
    offset: int
    content: bytes
    is_last: bool


@dataclass(frozen=True)
class Spool:
    root: Path

    def prepare(self) -> None:
        """Makes it, for this user alone, and removes what was forgotten in it."""
        for folder in (self._files, self._jobs):
            make_private_folder(folder)
            for old in folder.iterdir():
                if time.time() - old.stat().st_mtime > _KEPT_S:
                    shutil.rmtree(old) if old.is_dir() else old.unlink()

    def find_missing(self, files: tuple[FileToSend, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.sha256 for f in files if not self._file(f.sha256).is_file()))

    def add_part(self, part: FilePart) -> None:
        """Parts come in order; the last one makes it a file of the spool, if its bytes are those of its digest."""
        if self._file(part.digest).is_file():
            return
        path = self._files / f"{_checked(part.digest)}.{_checked(part.sender)}.part"
        with path.open("r+b" if part.offset else "wb") as file:
            file.seek(part.offset)
            file.truncate()
            file.write(part.content)
        if part.is_last:
            if file_sha256(path) != part.digest:
                path.unlink()
                raise StoreError("A file arrived with other bytes than were sent.", hint="Run the plans again.")
            path.replace(self._file(part.digest))

    def open_job(self, order: JobOrder) -> Path:
        """The folder of a job, with the files of its plan in place."""
        folder = self._jobs / _checked(order.job)
        folder.mkdir(parents=True, exist_ok=True)
        for file in order.files:
            source, target = self._file(file.sha256), folder / file.place
            if not target.resolve().is_relative_to(folder.resolve()):
                raise StoreError(f"{file.place} lies outside of the job's folder.")
            os.utime(source)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                # Not a link: a runner that changed its model would change it for later runs.
                shutil.copyfile(source, target)
                target.chmod(0o700 if file.is_program else 0o600)
        os.utime(folder)
        return folder

    def pack(self, job: str) -> tuple[int, str]:
        """Makes a finished run one file; its size and digest."""
        packed = self._packed(job)
        # An export that was made before may be on its way to another client.
        part = packed.with_suffix(".part")
        with part.open("wb") as file:
            pack_folder(packed.parent / RUN, file)
        part.replace(packed)
        return packed.stat().st_size, file_sha256(packed)

    def read_part(self, job: str, offset: int) -> bytes:
        with self._packed(job).open("rb") as file:
            file.seek(offset)
            return file.read(PART_BYTES)

    def forget(self, job: str) -> None:
        """Removes a job, whose run has arrived."""
        shutil.rmtree(self._jobs / _checked(job), ignore_errors=True)

    @property
    def _files(self) -> Path:
        return self.root / "files"

    @property
    def _jobs(self) -> Path:
        return self.root / "jobs"

    def _file(self, digest: str) -> Path:
        return self._files / _checked(digest)

    def _packed(self, job: str) -> Path:
        return self._jobs / _checked(job) / _PACKED


def _checked(name: str) -> str:
    """Names come from others: none leads out of the spool."""
    if not _DIGEST.fullmatch(name):
        raise StoreError(f"{name!r} is not the name of a job or a digest.")
    return name
