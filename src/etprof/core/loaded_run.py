"""A run read from its folder, each file once: what every analysis starts from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from etprof.core.graph import ModelGraph
from etprof.core.memory import ActivationPlan
from etprof.core.peaks import Peaks
from etprof.core.plan import TIMING, Experiment, Variant
from etprof.core.run import BlockResult, ProgramRecord, Session
from etprof.core.samples import KernelSamples
from etprof.core.trace import Trace
from etprof.core.workload import Workload

# The outputs of a model as numbers, flattened; None for one that is not numbers.
Outputs = Sequence[NDArray[np.float64] | None]


class SampledBlock(NamedTuple):
    """Samples of the program counter, and the trace that was recorded beside them."""

    samples: KernelSamples
    trace: Trace


@dataclass(frozen=True, eq=False)
class LoadedVariant:
    """What one variant left behind in its successful blocks.

    `outputs` are those of the first of them; None where they are unknown, as a stock runner's are. `reference` are
    those of the eager fp32 model, where its export stored them. `peaks` are those of the device's CPU, where they were
    measured. `plan` is the memory that the program planned, where its file is still the one that ran. `steps` has the
    times of a workload's steps by the index of the block: a row of nanoseconds for each timed sequence.
    """

    variant: Variant
    session: Session
    results: tuple[BlockResult, ...]
    graph: ModelGraph | None = None
    traces: tuple[Trace, ...] = ()
    sampled: tuple[SampledBlock, ...] = ()
    outputs: Outputs | None = None
    peaks: Peaks | None = None
    reference: Outputs | None = None
    plan: ActivationPlan | None = None
    steps: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def experiment(self) -> Experiment:
        return self.session.plan.experiment(self.variant.experiment)

    @property
    def record(self) -> ProgramRecord:
        """The program it ran, and what is known of it."""
        return self.session.program(self.variant)

    @property
    def model(self) -> Path:
        return self.record.program.model

    @property
    def runtime(self) -> str:
        return self.record.program.runtime

    @property
    def workload(self) -> Workload | None:
        return self.record.program.workload

    @property
    def output_types(self) -> tuple[str, ...]:
        """The type of each output, in the order of `outputs`."""
        return next((tuple(o.dtype for o in r.outputs) for r in self.results if not r.is_stock), ())

    @property
    def method(self) -> str:
        """The method that ran; empty where no block says so."""
        return self.results[0].method_name if self.results else ""

    @property
    def times_are_real(self) -> bool:
        return self.session.device.times_are_real


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A folder holds one or more sessions; `variants` are those of all of them, in the order of their plans.

    `notes` say which of its sessions are in it, where it is not one alone.
    """

    folder: Path
    sessions: tuple[Session, ...]
    variants: tuple[LoadedVariant, ...]
    notes: tuple[str, ...] = ()

    @property
    def newest(self) -> Session:
        """The one whose manifest has the plain name."""
        return self.sessions[-1]

    @property
    def session(self) -> Session:
        """The one that a run is asked about, which is the newest that was timed; without one, the newest."""
        timed = [each for each in self.sessions if any(e.mode == TIMING for e in each.plan.experiments)]
        return (timed or self.sessions)[-1]

    @property
    def times_are_real(self) -> bool:
        return self.session.device.times_are_real

    def of(self, variant: Variant) -> LoadedVariant:
        return next(each for each in self.variants if each.variant == variant)
