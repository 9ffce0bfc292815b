"""Choosing a build from Python: the command `etprof explore` as a function, with the same defaults."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from etprof.api import StrPath
from etprof.api.profiling import finish_run, watch_run
from etprof.api.runs import Run
from etprof.app import exploring
from etprof.app.builds import DTYPES, SCHEMES
from etprof.app.devices import parse_device
from etprof.app.exploring import EXPLORE_BUDGET, build_explore_request
from etprof.app.profiling import build_run_options
from etprof.app.progress import Progress


def explore(
    model: str,
    *,
    dtypes: str | Iterable[str] = DTYPES,
    schemes: str | Iterable[str] = SCHEMES,
    threads: int | str | Iterable[int] = "auto",
    runtimes: str | Iterable[str] = "executorch",
    budget: str | float = EXPLORE_BUDGET,
    min_snr: float | None = None,
    min_metric: float | None = None,
    sensitivity: bool = False,
    models_dir: StrPath | None = None,
    checkpoint: StrPath | None = None,
    device: str = "local",
    device_folder: str = "",
    emulator: str = "",
    runner_bundle: StrPath | None = None,
    prepare: bool = False,
    keep_on_device: bool = False,
    runner: str = "auto",
    output_root: StrPath | None = None,
    force: bool = False,
    resume: bool = False,
    wait: bool = True,
    progress: Progress | bool | None = None,
) -> Run:
    """Exports a model in several precisions, races the builds, writes the report, and says which build to ship.

    The options are those of `etprof explore`; names may be a list, or one text with commas. The run's `answer` is a
    sentence, its `builds()` are a table. `wait` and `progress` are as for `profile`.
    """
    asked = build_explore_request(
        model, dtypes=dtypes, schemes=schemes, threads=threads, runtimes=runtimes, budget=str(budget), min_snr=min_snr,
        min_metric=min_metric, sensitivity=sensitivity, models_dir=_path(models_dir), checkpoint=_path(checkpoint),
        output_root=_path(output_root),
    )  # fmt: skip
    watched, say = watch_run(progress)
    request = replace(
        parse_device(device), runner=runner, folder=device_folder, emulator=emulator, bundle=_path(runner_bundle),
        prepare=prepare, keep=keep_on_device, wait=wait, progress=say,
    )  # fmt: skip
    options = build_run_options(f"etprof.explore({model!r})", force=force, resume=resume)
    return finish_run(exploring.explore(asked, request, watched, options))


def _path(given: StrPath | None) -> Path | None:
    return None if given is None else Path(given)
