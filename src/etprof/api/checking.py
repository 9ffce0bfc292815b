"""The gate from Python: `etprof check` as a function."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from etprof.api import StrPath
from etprof.api.profiling import finish_run, require_positive, watch_run
from etprof.api.runs import Run
from etprof.app import gate, profiling
from etprof.app.devices import parse_device
from etprof.app.plans import PROFILE_RUNS, PROFILE_SCHEDULE, build_profile_schedule
from etprof.app.profiling import build_run_options
from etprof.app.progress import Progress
from etprof.app.thread_counts import parse_threads
from etprof.core.errors import UsageError
from etprof.core.regression import RegressionCheck
from etprof.reports import check_summary


class Check:
    """A verdict: `result` has all of it, `summary` says it in Markdown; `run` is there where models were measured."""

    def __init__(self, result: RegressionCheck, run: Run | None = None) -> None:
        self.result = result
        self.run = run

    @property
    def outcome(self) -> str:
        """pass, fail or inconclusive."""
        return self.result.outcome.value

    @property
    def summary(self) -> str:
        return check_summary.render(self.result)

    def __repr__(self) -> str:
        return f"<Check {self.result.run} against {self.result.known_good}: {self.outcome}>"


def check(
    old: StrPath,
    new: StrPath,
    *,
    tolerance: float = 0.05,
    output_tolerance: float | None = None,
    memory_tolerance: float | None = None,
    device: str = "local",
    device_folder: str = "",
    emulator: str = "",
    runner_bundle: StrPath | None = None,
    prepare: bool = False,
    keep_on_device: bool = False,
    runner: str = "auto",
    threads: int | str | Iterable[int] = 1,
    runs: int = PROFILE_RUNS,
    blocks: int = PROFILE_SCHEDULE.blocks,
    max_blocks: int = PROFILE_SCHEDULE.max_blocks,
    budget: str | float = "2m",
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    wait: bool = True,
    progress: Progress | bool | None = None,
) -> Check:
    """Judges whether `new` is as good as `old`: two models (.pte), or the folders of two finished runs.

    Two models are measured in one run, interleaved; the options from `device` on are those of `profile` and are for
    models only. `tolerance` is the share of time that the new one may be slower, 0.05 for 5 %; `output_tolerance` is as
    for `etprof check`; `memory_tolerance` is the share by which peak memory may grow, which is not judged without it.
    """
    before, after = Path(old), Path(new)
    if before.is_dir() and after.is_dir():
        return Check(gate.check_run(after, before, tolerance, output_tolerance, memory_tolerance))
    if before.is_dir() or after.is_dir():
        raise UsageError("A model cannot be checked against a run.", hint="Give two models, or two folders of runs.")
    require_positive(runs=runs, blocks=blocks, max_blocks=max_blocks)
    options = build_run_options(f"etprof.check({before.name!r}, {after.name!r})", force=force, resume=resume)
    watched, say = watch_run(progress)
    request = replace(
        parse_device(device), runner=runner, folder=device_folder, emulator=emulator,
        bundle=Path(runner_bundle) if runner_bundle is not None else None, prepare=prepare,
        keep=keep_on_device, wait=wait, progress=say,
    )  # fmt: skip
    with watched as observer:
        measured = profiling.measure_models(
            before,
            after,
            request,
            observer,
            options,
            output_root=Path(output_root) if output_root is not None else None,
            schedule=build_profile_schedule(blocks, max_blocks, str(budget)),
            runs=runs,
            threads=parse_threads(threads),
        )
    run = finish_run(measured)
    return Check(gate.check_measured(run._analysis, tolerance, output_tolerance, memory_tolerance), run)
