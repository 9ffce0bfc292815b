"""Passes through the phases of a workload in a Python process; the native runner does the same in sequence.cpp."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from etprof.core.memory import FIRST, INPUTS
from etprof.runner.load_log import LoadLog
from etprof.runner.planned_workload import PlannedInput, PlannedPhase, PlannedWorkload
from etprof.runner.work import OutputData, Runnable

_STEPS_MAGIC = b"ETSTEPS1"


class StepModel(Runnable, Protocol):
    """A method whose inputs change from step to step."""

    def view_inputs(self, inputs: Sequence[PlannedInput], data: bytes | bytearray) -> list[Any]:
        """Each input of all steps."""

    def take_inputs(self, views: Sequence[Any], index: int) -> None:
        """Those of one step."""


LoadModels = Callable[[LoadLog | None], Mapping[str, StepModel]]


@dataclass(frozen=True)
class _Part:
    phase: PlannedPhase
    model: StepModel
    views: list[Any]


class SequenceWork:
    """An iteration is a sequence. State is that of a fresh load: a program that keeps any is loaded for each sequence.

    One that is traced is not: its tracer belongs to it.
    """

    def __init__(self, workload: PlannedWorkload, load: LoadModels, log: LoadLog | None) -> None:
        self._workload, self._load, self._log = workload, load, log
        self.outputs: list[OutputData] | None = None
        self.sequences_agree: bool | None = None
        self._reloads = workload.has_state and log is not None
        self._steps: NDArray[np.int64] = np.zeros((0, workload.step_count), np.int64)
        self._timed = self._untimed = 0
        self._parts = self._load_parts(log)
        self._is_fresh = True

    @property
    def method_name(self) -> str:
        return ", ".join(dict.fromkeys(part.model.method_name for part in self._parts))

    @property
    def threads(self) -> int | None:
        return self._parts[0].model.threads

    def run(self) -> int:
        self._untimed += 1
        if self._untimed > 2 or self._timed:
            return self._run(None)
        outputs: list[OutputData] = []
        taken = self._run(None, outputs)
        if self.outputs is None:
            self.outputs = outputs
        else:
            self.sequences_agree = self.outputs == outputs
        return taken

    def prepare(self, timed: int) -> None:
        self._steps = np.zeros((timed, self._workload.step_count), np.int64)

    def run_timed(self) -> int:
        steps = self._steps[self._timed]
        self._timed += 1
        if self.outputs is not None:
            return self._run(steps)
        self.outputs = []
        return self._run(steps, self.outputs)

    def run_traced(self) -> int:
        return self._run(None, traced_only=True)

    def write_steps(self, path: Path) -> None:
        counts = np.array(self._steps.shape, "<i8")
        path.write_bytes(_STEPS_MAGIC + counts.tobytes() + self._steps.astype("<i8", copy=False).tobytes())

    def write_trace(self, path: Path) -> None:
        self._parts[0].model.write_trace(path)

    def _load_parts(self, log: LoadLog | None) -> list[_Part]:
        models = self._load(log)
        data = self._workload.data
        phases = ((phase, models[phase.method]) for phase in self._workload.phases)
        return [_Part(phase, model, model.view_inputs(phase.inputs, data)) for phase, model in phases]

    def _reset(self) -> None:
        if self._reloads and not self._is_fresh:
            # What was loaded before is let go first: two of it may not fit.
            self._parts = []
            self._parts = self._load_parts(None)
        self._is_fresh = False

    def _run(
        self, steps: NDArray[np.int64] | None, kept: list[OutputData] | None = None, *, traced_only: bool = False
    ) -> int:
        """The time from start to end without resets, and without copies of outputs."""
        self._reset()
        total, number = 0, 0
        began = time.perf_counter_ns()
        for place, phase in enumerate(self._workload.phases):
            if phase.resets and place:
                total += time.perf_counter_ns() - began
                self._reset()
                began = time.perf_counter_ns()
            part = self._parts[place]
            for index in phase.traced if traced_only else range(phase.repeats):
                is_logged = self._log is not None
                taken = self._run_step(part, index)
                if is_logged:
                    # What the log read around the first inference is no part of the sequence.
                    began = time.perf_counter_ns() - taken
                if steps is not None:
                    steps[number] = taken
                    number += 1
            if kept is not None:
                total += time.perf_counter_ns() - began
                kept += part.model.copy_outputs()
                began = time.perf_counter_ns()
        return total + time.perf_counter_ns() - began

    def _run_step(self, part: _Part, index: int) -> int:
        part.model.take_inputs(part.views, index)
        log, self._log = self._log, None
        if log is None:
            return part.model.run_once()
        log.note(INPUTS)
        taken = part.model.run_once()
        log.end(FIRST)
        return taken
