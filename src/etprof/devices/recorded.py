"""A stored run as a device: every job is answered with the files that were recorded for it, with no runtime at all."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from etprof.core.run import BlockResult, DeviceInfo, Job, JobOutcome, Session
from etprof.devices.base import remove_stale_files


@dataclass(frozen=True)
class RecordedDevice:
    """`folder` is the session's folder, `session` what it holds."""

    folder: Path
    session: Session

    @property
    def platform(self) -> str:
        return "recorded"

    def describe(self) -> DeviceInfo:
        return self.session.device

    def run(self, job: Job) -> JobOutcome:
        remove_stale_files(job)
        block = job.block
        recorded = next((r for r in self.session.results if (r.variant, r.index) == (block.variant, block.index)), None)
        if recorded is None:
            return JobOutcome(None, 0.0, f"the recording does not hold {block.name}")
        for source, target in self._files(recorded, job):
            shutil.copyfile(source, target)
        return JobOutcome(0 if recorded.is_ok else 1, recorded.duration_s, recorded.error)

    def _files(self, recorded: BlockResult, job: Job) -> list[tuple[Path, Path]]:
        log = self.folder / recorded.log
        pairs = [(log, job.log), (log.with_suffix(".result.json"), job.result)]
        if recorded.etdump:
            pairs.append((self.folder / recorded.etdump, job.etdump))
        if recorded.samples and job.samples:
            pairs.append((self.folder / recorded.samples, job.samples))
        job.outputs.mkdir(parents=True, exist_ok=True)
        pairs += [(self.folder / o.file, job.outputs / Path(o.file).name) for o in recorded.outputs]
        return [(source, target) for source, target in pairs if source.is_file()]
