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
from etprof.app.named_model import export_named, find_export
from etprof.app.plans import (
    PROFILE_RUNS,
    PROFILE_SCHEDULE,
    add_sampled_variants,
    build_profile_schedule,
    read_plan,
)
from etprof.app.profiling import build_run_options
from etprof.app.progress import Progress, RunCounter
from etprof.app.reporting import analyze_measured, write_report
from etprof.app.runs import MeasuredRun
from etprof.app.thread_counts import parse_threads
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from etprof.core.workload import Workload
from etprof.store.workload_file import build_workload, load_workload


def profile(
    model: StrPath,
    *,
    dtype: str = "",
    quantize: bool = False,
    models_dir: StrPath | None = None,
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
    kernels: bool = False,
    method: str = "",
    workload: StrPath | Mapping[str, Any] | Workload | None = None,
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    wait: bool = True,
    progress: Progress | bool | None = None,
) -> Run:
    """Profiles a model with the best extension of the device's CPU hidden and shown, and writes the report.

    `model` is a .pte, or the name of a model, which is exported first unless that was done and nothing has changed.
    The options are those of `etprof profile`. `threads` is a number, several of them, or "auto". `budget` is a text
    such as 90s or 10m, or a number of seconds. `workload` is the path of a workload file, or what such a file holds as
    a dict: an iteration is then all of its phases once. Where another run is measuring on that machine, this one waits
    for it, or with wait=False is refused. `progress` is called with the number of finished blocks, the number of
    planned ones and a few words; True shows a bar.
    """
    require_positive(runs=runs, blocks=blocks, max_blocks=max_blocks)
    options = build_run_options(f"etprof.profile({Path(model).name!r})", force=force, resume=resume)
    wanted = find_export(
        str(model), dtype=dtype, quantize=quantize, models_dir=Path(models_dir) if models_dir is not None else None
    )
    watched, say = watch_run(progress)
    request = replace(
        parse_device(device), runner=runner, folder=device_folder, emulator=emulator,
        bundle=Path(runner_bundle) if runner_bundle is not None else None, prepare=prepare,
        keep=keep_on_device, wait=wait, progress=say,
    )  # fmt: skip
    pte = export_named(wanted, request) if wanted else Path(model)
    with watched as observer:
        measured = profiling.profile(
            pte,
            request,
            observer,
            options,
            output_root=Path(output_root) if output_root is not None else None,
            schedule=build_profile_schedule(blocks, max_blocks, str(budget)),
            runs=runs,
            threads=parse_threads(threads),
            kernels=kernels,
            method=method,
            workload=_read_workload(workload),
        )
    return finish_run(measured)


def _read_workload(given: StrPath | Mapping[str, Any] | Workload | None) -> Workload | None:
    if given is None or isinstance(given, Workload):
        return given
    return build_workload(dict(given), "the workload") if isinstance(given, Mapping) else load_workload(Path(given))


def run_plan(
    plan: StrPath | Mapping[str, Any] | Plan,
    *,
    device: str = "local",
    runner: str = "auto",
    device_folder: str = "",
    emulator: str = "",
    runner_bundle: StrPath | None = None,
    prepare: bool = False,
    keep_on_device: bool = False,
    only: Iterable[str] = (),
    kernels: bool = False,
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    wait: bool = True,
    progress: Progress | bool | None = None,
) -> Run:
    """Runs a plan and writes the report; `plan` is the path of a plan file, or what such a file holds as a dict.

    The options are those of `etprof run`; `wait` and `progress` are as for `profile`.
    """
    source = plan if isinstance(plan, Plan | Mapping) else Path(plan)
    wanted = read_plan(source, output_root=Path(output_root) if output_root is not None else None, only=tuple(only))
    request = replace(
        parse_device(device), runner=runner, folder=device_folder, emulator=emulator,
        bundle=Path(runner_bundle) if runner_bundle is not None else None, prepare=prepare,
        keep=keep_on_device, wait=wait,
    )  # fmt: skip
    name = source.name if isinstance(source, Path) else "plan"
    path = source if isinstance(source, Path) else None
    options = build_run_options(f"etprof.run_plan({name!r})", force=force, resume=resume, plan_path=path)
    watched, say = watch_run(progress)
    with watched as observer:
        measured = profiling.run_on(
            replace(request, progress=say), add_sampled_variants(wanted) if kernels else wanted, observer, options
        )
    return finish_run(measured)


def require_positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"{name} is {count}.", hint=f"Give {name} a whole number from 1 on.")


def watch_run(progress: Progress | bool | None) -> tuple[AbstractContextManager[Observer], Callable[[str], None]]:
    """What observes the run, and what hears of the device's preparation."""
    if progress is True:
        from etprof.cli.console import say
        from etprof.cli.progress import RunProgress

        return RunProgress(), say
    tell = progress or _ignore
    return nullcontext(RunCounter(tell)), lambda text: tell(0, None, text)


def _ignore(_done: int, _total: int | None, _text: str) -> None:
    pass


def finish_run(measured: MeasuredRun) -> Run:
    analysis = analyze_measured(measured)
    write_report(analysis)
    return Run(analysis)
