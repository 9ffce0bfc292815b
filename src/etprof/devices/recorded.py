"""A stored run as a device: every job is answered with the files that were recorded for it, with no runtime at all."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from etprof.core.layout import output_name
from etprof.core.regular_files import MOST_BYTES
from etprof.core.run import BlockResult, DeviceInfo, Job, JobOutcome, Session
from etprof.devices.base import remove_stale_files


@dataclass(frozen=True)
class RecordedDevice:
    """`folder` is the session's folder, `session` what it holds.

    `copied` leads from a file of outputs to its first copy: blocks with the same outputs share one, which is read once.
    """

    folder: Path
    session: Session
    copied: dict[Path, Path] = field(default_factory=dict, compare=False)

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
            if source.stat().st_size > MOST_BYTES:
                return JobOutcome(None, 0.0, f"{source.name} of the recording has more than {MOST_BYTES} bytes")
            self._copy(source, target, is_shared=target.parent == job.outputs)
        return JobOutcome(0 if recorded.is_ok else 1, recorded.duration_s, recorded.error)

    def _copy(self, source: Path, target: Path, *, is_shared: bool) -> None:
        first = self.copied.setdefault(source, target) if is_shared else target
        if first != target and first.is_file():
            os.link(first, target)
        else:
            shutil.copyfile(source, target)

    def _files(self, recorded: BlockResult, job: Job) -> list[tuple[Path, Path]]:
        log = self.folder / recorded.log
        pairs = [(log, job.log), (log.with_suffix(".result.json"), job.result)]
        if recorded.etdump:
            pairs.append((self.folder / recorded.etdump, job.etdump))
        if recorded.samples and job.samples:
            pairs.append((self.folder / recorded.samples, job.samples))
        if recorded.steps and job.steps:
            pairs.append((self.folder / recorded.steps, job.steps))
        job.outputs.mkdir(parents=True, exist_ok=True)
        # By the names that the recorded result file has: one file may stand for several outputs.
        outputs = [(i, o.file) for i, o in enumerate(recorded.outputs) if o.file]
        pairs += [(self.folder / file, job.outputs / output_name(i)) for i, file in outputs]
        return [(source, target) for source, target in pairs if source.is_file()]
