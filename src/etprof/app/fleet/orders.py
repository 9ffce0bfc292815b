"""What is sent to a worker: an order for its work, which is a plan to measure or a model to export, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from etprof.core.fleet import FileToSend
from etprof.core.plan import Plan
from etprof.export.request import ExportRequest


@dataclass(frozen=True)
class JobOrder:
    """What a worker is asked for. The paths of a plan lie below the job's folder there.

    A plan without experiments is that which fits the device: its best extension hidden and shown. `arrived` are earlier
    jobs of the device, which it can forget.
    """

    job: str
    device: str
    work: Plan | ExportRequest
    files: tuple[FileToSend, ...]
    command: str
    topic: str
    arrived: tuple[str, ...] = ()


class Sendable(Protocol):
    """Work with the files that it needs; `sources` are those here, by their digests."""

    @property
    def work(self) -> Plan | ExportRequest: ...

    @property
    def files(self) -> tuple[FileToSend, ...]: ...

    @property
    def sources(self) -> Mapping[str, Path]: ...
