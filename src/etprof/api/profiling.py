"""Measuring from Python: the commands `etprof profile` and `etprof run` as functions, with the same defaults."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from etprof.api import StrPath
from etprof.api.runs import Run
from etprof.app import profiling
from etprof.app.devices import parse_device
from etprof.app.measuring import Observer
from etprof.app.plans import (
    PROFILE_RUNS,
    PROFILE_SCHEDULE,
    add_sampled_variants,
    build_profile_schedule,
    read_plan,
)
from etprof.app.profiling import RunOptions
from etprof.app.progress import Progress, RunCounter
from etprof.app.reporting import analyze_measured, write_report
from etprof.app.runs import MeasuredRun
from etprof.core.errors import UsageError
from etprof.core.plan import Plan


def profile(
    pte: StrPath,
    *,
    device: str = "local",
    runner: str = "auto",
    threads: int = 1,
    runs: int = PROFILE_RUNS,
    blocks: int = PROFILE_SCHEDULE.blocks,
    max_blocks: int = PROFILE_SCHEDULE.max_blocks,
    budget: str | float = "2m",
    kernels: bool = False,
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> Run:
    """Profiles a model with the best extension of the device's CPU hidden and shown, and writes the report.

    The options are those of `etprof profile`. `budget` is a text such as 90s or 10m, or a number of seconds. `progress`
    is called with the number of finished blocks, the number of planned ones and a few words; True shows a bar.
    """
    _require_positive(threads=threads, runs=runs, blocks=blocks, max_blocks=max_blocks)
    path = Path(pte)
    watched, say = _watch(progress)
    with watched as observer:
        measured = profiling.profile(
            path,
            replace(parse_device(device), runner=runner, progress=say),
            observer,
            _build_options(f"etprof.profile({path.name!r})", force=force, resume=resume),
            output_root=Path(output_root) if output_root is not None else None,
            schedule=build_profile_schedule(blocks, max_blocks, str(budget)),
            runs=runs,
            threads=(threads,),
            kernels=kernels,
        )
    return _finish(measured)


def run_plan(
    plan: StrPath | Mapping[str, Any] | Plan,
    *,
    device: str = "local",
    runner: str = "auto",
    device_folder: str = "",
    emulator: str = "",
    prepare: bool = False,
    keep_on_device: bool = False,
    only: Iterable[str] = (),
    kernels: bool = False,
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> Run:
    """Runs a plan and writes the report; `plan` is the path of a plan file, or what such a file holds as a dict.

    The options are those of `etprof run`; `progress` is as for `profile`.
    """
    source = plan if isinstance(plan, Plan | Mapping) else Path(plan)
    wanted = read_plan(source, output_root=Path(output_root) if output_root is not None else None, only=tuple(only))
    request = replace(
        parse_device(device), runner=runner, folder=device_folder, emulator=emulator, prepare=prepare,
        keep=keep_on_device,
    )  # fmt: skip
    name = source.name if isinstance(source, Path) else "plan"
    options = _build_options(f"etprof.run_plan({name!r})", force=force, resume=resume)
    watched, say = _watch(progress)
    with watched as observer:
        measured = profiling.run_on(
            replace(request, progress=say), add_sampled_variants(wanted) if kernels else wanted, observer, options
        )
    return _finish(measured)


def _require_positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"{name} is {count}.", hint=f"Give {name} a whole number from 1 on.")


def _build_options(command: str, *, force: bool, resume: bool) -> RunOptions:
    if force and resume:
        raise UsageError("force and resume are mutually exclusive.", hint="force starts over, resume continues.")
    return RunOptions(command, force=force, resume=resume)


def _watch(progress: Progress | bool | None) -> tuple[AbstractContextManager[Observer], Callable[[str], None]]:
    """What observes the run, and what hears of the device's preparation."""
    if progress is True:
        from etprof.cli.console import say
        from etprof.cli.progress import RunProgress

        return RunProgress(), say
    tell = progress or _ignore
    return nullcontext(RunCounter(tell)), lambda text: tell(0, None, text)


def _ignore(_done: int, _total: int | None, _text: str) -> None:
    pass


def _finish(measured: MeasuredRun) -> Run:
    analysis = analyze_measured(measured)
    write_report(analysis)
    return Run(analysis)
