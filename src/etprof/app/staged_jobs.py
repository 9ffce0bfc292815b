"""Jobs of a guest run in a folder of ours, and their files are then put in place: nothing leads a runner elsewhere."""

import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from etprof.core.confinement import is_confined
from etprof.core.run import Job, JobOutcome
from etprof.devices.base import Device
from etprof.store.json_file import write_bytes
from etprof.store.paths import open_folder


def run_job(device: Device, job: Job) -> JobOutcome:
    """Runs a job on a device; where files are confined, apart from the folder that a guest can change meanwhile."""
    if not is_confined():
        return device.run(job)
    with tempfile.TemporaryDirectory(prefix="etprof-job-") as private:
        staged = _stage(job, Path(private))
        outcome = device.run(staged)
        _put_in_place(staged, job)
        return outcome


def _stage(job: Job, folder: Path) -> Job:
    return replace(
        job,
        result=folder / job.result.name,
        etdump=folder / job.etdump.name,
        log=folder / job.log.name,
        samples=folder / job.samples.name if job.samples else None,
        outputs=folder / job.outputs.name,
        steps=folder / job.steps.name if job.steps else None,
        # Not put in place: a runner would read it again.
        packed_cache=folder / job.packed_cache.name if job.packed_cache else None,
    )


def _put_in_place(staged: Job, job: Job) -> None:
    for source, target in zip(_files_of(staged), _files_of(job), strict=True):
        if source.is_file():
            write_bytes(target, source.read_bytes())
        else:
            _remove(target)
    for source in sorted(staged.outputs.glob("*")):
        write_bytes(job.outputs / source.name, source.read_bytes())


def _files_of(job: Job) -> list[Path]:
    return [path for path in (job.result, job.etdump, job.log, job.samples, job.steps) if path]


def _remove(path: Path) -> None:
    """What an earlier run left may not be taken for this one's."""
    with open_folder(path.parent) as folder, suppress(FileNotFoundError):
        os.unlink(path.name, dir_fd=folder)
