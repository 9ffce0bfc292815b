"""Which build to ship: builds of one model race against each other in one interleaved run."""

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from etprof.app.builds import Builds, BuildsRequest, add_sensitivity, make_builds, set_floors
from etprof.app.devices import DeviceRequest, open_device
from etprof.app.measuring import Observer
from etprof.app.named_model import require_name
from etprof.app.profiling import RunOptions, run_opened
from etprof.app.runs import MeasuredRun
from etprof.app.thread_counts import parse_threads, suggest_threads
from etprof.core.errors import UsageError
from etprof.core.exploration import Exploration
from etprof.core.layout import run_folder
from etprof.core.plan import Experiment, Plan, Schedule, Warmup
from etprof.core.run import DeviceInfo, Session
from etprof.core.units import parse_duration
from etprof.store.paths import check_path
from etprof.store.run_folder import has_begun, refuse_what_cannot_be_kept
from etprof.store.run_lock import hold_run_folder, refuse_held
from etprof.store.session_file import load_session

# Rounds are added until the front is separated; the number at most is never reached within a time budget. A block that
# the machine disturbed is not run again: the time is better spent on another round.
EXPLORE_SCHEDULE = Schedule(blocks=4, max_blocks=200, time_budget_s=600.0, retries=0)
EXPLORE_BUDGET = "10m"
NO_NAME = "none"
_RUNS, _TRACED_RUNS = 20, 5
_FOLDER_SUFFIX = "explore"
# What is kept of the time budget for the analysis and the report, which follow the race.
_REPORT_S, _REPORT_SHARE = 40.0, 0.1


@dataclass(frozen=True)
class ExploreRequest:
    """Without thread counts there are those that fit the device."""

    builds: BuildsRequest
    threads: tuple[int, ...] = ()
    budget: str = EXPLORE_BUDGET
    output_root: Path | None = None

    @property
    def schedule(self) -> Schedule:
        return replace(EXPLORE_SCHEDULE, time_budget_s=parse_duration(self.budget))


def build_explore_request(
    model: str, *, dtypes: str | Iterable[str], schemes: str | Iterable[str], threads: str | int | Iterable[int],
    runtimes: str | Iterable[str], budget: str, min_snr: float | None, min_metric: float | None, sensitivity: bool,
    models_dir: Path | None, checkpoint: Path | None, output_root: Path | None,
) -> ExploreRequest:  # fmt: skip
    """What users write: names separated by commas, or several of them; `none` is no name."""
    if model.endswith(".pte") or check_path(Path(model)).is_file():
        raise UsageError(
            f"{model} is the path of a file; explore exports a model in several precisions, by its name.",
            hint="Give the model's name: `etprof models list` lists them. Two files: `etprof check OLD.pte NEW.pte`.",
        )
    builds = BuildsRequest(
        model=model,
        dtypes=_list_names(dtypes),
        schemes=_list_names(schemes),
        runtimes=_list_names(runtimes),
        models_dir=models_dir,
        checkpoint=checkpoint,
        min_snr_db=min_snr,
        min_metric=min_metric,
        sensitivity=sensitivity,
    )
    if not builds.wanted:
        raise UsageError("No build is asked for.", hint="Name some with --dtypes or --schemes.")
    return ExploreRequest(builds, parse_threads(threads), budget, output_root)


def _list_names(given: str | Iterable[str]) -> tuple[str, ...]:
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)
    return tuple(dict.fromkeys(name for name in names if name and name != NO_NAME))


def explore(
    asked: ExploreRequest, request: DeviceRequest, watched: AbstractContextManager[Observer], options: RunOptions
) -> MeasuredRun:
    """Exports what is asked for, then measures it by racing. Exports are part of the time budget.

    `watched` is entered for the race alone: an export takes over the terminal.
    """
    builds = asked.builds
    # What is wrong with the request is said before a device is opened.
    wanted, schedule = builds.wanted, asked.schedule
    require_name(builds.plain)
    experiments = tuple(Experiment(each.name, runtime=each.runtime) for each in wanted)
    with open_device(replace(request, experiments=experiments)) as opened:
        folder = asked.output_root or run_folder(builds.plain.pte, f"{opened.device.platform}_{_FOLDER_SUFFIX}")
        refuse_held(folder)
        request.progress(f"results go to {folder}")
        with _older_run(folder, options) as older:
            threads = asked.threads or suggest_threads(opened.device.describe())
            if older:
                exploration, plan = set_floors(_continued(older, asked, threads), builds), older.plan
                plan = replace(plan, schedule=replace(plan.schedule, time_budget_s=schedule.time_budget_s))
            else:
                made = make_builds(builds, request.progress)
                exploration = made.exploration
                plan = build_race_plan(made, folder, threads, schedule, opened.device.describe())
            asked_s = time.monotonic()
            exploration = add_sensitivity(exploration, builds, request.progress)
            # It was asked for besides the race, and takes nothing of its time.
            began_s = options.began_s + time.monotonic() - asked_s - keep_for_report(schedule.time_budget_s)
            options = replace(options, exploration=exploration, began_s=began_s)
            with watched as observer:
                return run_opened(opened, plan, observer, options, older)


def keep_for_report(budget_s: float | None) -> float:
    return min(_REPORT_S, _REPORT_SHARE * budget_s) if budget_s else 0.0


def build_race_plan(
    builds: Builds, folder: Path, threads: tuple[int, ...], schedule: Schedule, info: DeviceInfo
) -> Plan:
    """An experiment for each build. Where times mean nothing, one short block of each shows what runs."""
    like = Experiment("", threads=threads, runs=_RUNS, traced_runs=_TRACED_RUNS)
    if not info.times_are_real:
        like = replace(like, runs=1, traced_runs=1, warmup=Warmup(0, 0))
        schedule = replace(schedule, blocks=1, max_blocks=1)
    runtimes = {each.experiment: each.runtime for each in builds.exploration.candidates}
    experiments = tuple(
        replace(like, name=name, model=path, runtime=runtimes[name]) for name, path in builds.files.items()
    )
    first = next(iter(builds.files.values()))
    return Plan(model=first, output_root=folder, experiments=experiments, pairs=(), schedule=schedule)


@contextmanager
def _older_run(folder: Path, options: RunOptions) -> Iterator[Session | None]:
    """The run to go on with, which nobody else changes meanwhile."""
    if not options.resume or not folder.is_dir():
        if not options.force and folder.is_dir():
            # Exports take minutes: what would be refused after them is refused now.
            refuse_what_cannot_be_kept(folder)
        yield None
        return
    with hold_run_folder(folder):
        yield load_session(folder) if has_begun(folder) else None


def _continued(older: Session, asked: ExploreRequest, threads: tuple[int, ...]) -> Exploration:
    """What an older run is to decide: the same builds at the same thread counts, or it is another run."""
    if older.exploration is None:
        raise UsageError(
            f"{older.plan.output_root} does not hold a run of `etprof explore`.", hint="Give another folder: --out DIR"
        )
    names = tuple(each.name for each in asked.builds.wanted)
    is_same = names == tuple(each.experiment for each in older.exploration.candidates)
    if not is_same or any(experiment.threads != threads for experiment in older.plan.experiments):
        raise UsageError(
            "The run cannot be resumed: since it began other builds or thread counts were asked for.",
            hint="Give the same --dtypes, --schemes, --runtimes and --threads, or start over with --force.",
        )
    return older.exploration
