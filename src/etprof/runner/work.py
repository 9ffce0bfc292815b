"""What one iteration of a block executes: a method with its inputs, or a sequence of a workload's steps."""

from pathlib import Path
from typing import Protocol

from etprof.core.memory import FIRST, INPUTS
from etprof.runner.load_log import LoadLog

# Type, shape and bytes in row-major order of an output; None where it has none.
OutputData = tuple[str, list[int], bytes | None]


class Runnable(Protocol):
    """A method that a runtime has loaded, with its inputs set."""

    @property
    def method_name(self) -> str: ...

    @property
    def threads(self) -> int | None:
        """How many compute; None where the runtime does not tell."""

    def run_once(self) -> int:
        """One inference; only its execution counts, in nanoseconds."""

    def copy_outputs(self) -> list[OutputData]:
        """Those of the latest inference."""

    def write_trace(self, path: Path) -> None:
        """Of a model that was loaded with a tracer: what it recorded since."""


class Work(Protocol):
    """Times are in nanoseconds. `outputs` are those of the first iteration, once there was one."""

    outputs: list[OutputData] | None
    sequences_agree: bool | None

    @property
    def method_name(self) -> str: ...

    @property
    def threads(self) -> int | None: ...

    def run(self) -> int: ...

    def prepare(self, timed: int) -> None:
        """Room for what `run_timed` keeps."""

    def run_timed(self) -> int: ...

    def run_traced(self) -> int: ...

    def write_steps(self, path: Path) -> None: ...

    def write_trace(self, path: Path) -> None: ...


class MethodWork:
    """An iteration is one inference. What its first one does is told the log, where there is one."""

    def __init__(self, model: Runnable, log: LoadLog | None) -> None:
        self._model, self._log = model, log
        self.outputs: list[OutputData] | None = None
        self.sequences_agree: bool | None = None

    @property
    def method_name(self) -> str:
        return self._model.method_name

    @property
    def threads(self) -> int | None:
        return self._model.threads

    def run(self) -> int:
        if self.outputs is not None or self._log is None:
            return self._model.run_once()
        self._log.note(INPUTS)
        taken = self._model.run_once()
        self._log.end(FIRST)
        # Those of later runs depend on how many there were where a model keeps state.
        self.outputs = self._model.copy_outputs()
        return taken

    def prepare(self, timed: int) -> None:
        """Nothing is kept but the time of the whole."""

    def run_timed(self) -> int:
        return self.run()

    def run_traced(self) -> int:
        return self._model.run_once()

    def write_steps(self, path: Path) -> None:
        """There are none."""

    def write_trace(self, path: Path) -> None:
        self._model.write_trace(path)
