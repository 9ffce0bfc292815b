"""What holds for every session that etprof wrote is checked in one that somebody sent, before anything is done with it.

Its names and numbers become paths and sums: an experiment called `../../x` would be a place outside of the folder.
"""

import os
import re
from collections.abc import Iterator
from itertools import chain
from math import isfinite
from pathlib import PurePosixPath, PureWindowsPath

from etprof.core.errors import PlanError, StoreError
from etprof.core.load_options import find_problem
from etprof.core.plan import (
    EXPERIMENT_NAME,
    MODES,
    MOST_BLOCKS,
    MOST_CORES,
    MOST_COUNT,
    MOST_SEED,
    ORDERS,
    PAGE_CACHES,
    Experiment,
    Plan,
    Schedule,
)
from etprof.core.result_limits import find_impossible
from etprof.core.run import BlockResult, Session
from etprof.core.runtimes import RUNTIMES
from etprof.core.workload import Workload
from etprof.core.workload import find_problem as find_workload_problem
from etprof.store.plan_pairs import settle_pairs

_MOST_VARIANTS = 1_000
_MOST_NAME, _MOST_PATH = 200, 2000
_MOST_DB = 1_000
_NAME = re.compile(EXPERIMENT_NAME)


def check_session(session: Session, where: str) -> None:
    """Refuses a session that no run of etprof could have left; `where` names it in the error."""
    for problem in chain(
        _plan_problems(session.plan),
        _program_problems(session),
        _session_problems(session),
        _exploration_problems(session),
    ):
        raise _refuse(where, problem)
    for result in session.results:
        for problem in _result_problems(result):
            raise _refuse(where, f"{_shorten(result.name)}: {problem}")
    try:
        settle_pairs(session.plan.pairs, session.plan.experiments, where)
    except PlanError as error:
        raise StoreError(error.message, hint=error.hint) from error


def is_inside(name: str) -> bool:
    """Whether a stored path stays below the folder it begins in, on every system."""
    ways = PurePosixPath(name), PureWindowsPath(name)
    return is_path(name) and not any(way.is_absolute() or way.drive or ".." in way.parts for way in ways)


def is_path(name: str) -> bool:
    """Whether a file could be called so, with room for the suffixes of the files beside it."""
    try:
        parts = [os.fsencode(part) for part in PurePosixPath(name).parts]
    except UnicodeEncodeError:
        return False
    return "\0" not in name and all(len(part) <= _MOST_NAME for part in parts) and len(name) <= _MOST_PATH


def _refuse(where: str, problem: str) -> StoreError:
    hint = "It was changed, or made by something else. Nothing of it was used."
    return StoreError(f"{where} does not hold a session of etprof: {problem}.", hint=hint)


def _plan_problems(plan: Plan) -> Iterator[str]:
    names = [experiment.name for experiment in plan.experiments]
    if not names:
        yield "its plan has no experiment"
    variants = sum(len(experiment.threads) for experiment in plan.experiments)
    if max(variants, len(plan.pairs)) > _MOST_VARIANTS:
        yield f"it has more than {_MOST_VARIANTS} variants or pairs"
    if len(set(names)) < len(names):
        yield "two experiments have the same name"
    for experiment in plan.experiments:
        yield from _experiment_problems(experiment)
    yield from _schedule_problems(plan.schedule)
    own = (path for e in plan.experiments for path in (e.runner_path, e.model, *e.inputs) if path)
    for workload in dict.fromkeys((plan.workload, *(e.workload for e in plan.experiments))):
        yield from _workload_problems(workload)
    if not all(is_path(str(path)) for path in (plan.model, plan.output_root, *plan.inputs, *own)):
        yield "its plan has a path that no file can have"
    if not all(program.model.name for program in plan.programs):
        yield "its plan names no model"


def _schedule_problems(schedule: Schedule) -> Iterator[str]:
    if not 1 <= schedule.blocks <= schedule.max_blocks <= MOST_BLOCKS or schedule.order not in ORDERS:
        yield "its schedule is out of range"
    if schedule.page_cache not in PAGE_CACHES:
        yield f"{_shorten(schedule.page_cache)!r} is no state of the page cache"
    if not (0 < schedule.target_precision < 1 and 0 < schedule.equivalence_bound < 1):
        yield "a share in its schedule is not between 0 and 1"
    if not 0 <= schedule.seed < MOST_SEED:
        yield "the seed of its schedule is out of range"


def _program_problems(session: Session) -> Iterator[str]:
    names = [name for each in session.programs for name in each.experiments]
    if sorted(names) != sorted(experiment.name for experiment in session.plan.experiments):
        yield "not each of its experiments has one program"
    for each in session.programs:
        program = each.program
        if not program.model.name or not all(is_path(str(path)) for path in (program.model, *program.inputs)):
            yield "a program has a path that no file can have"
        yield from _workload_problems(program.workload)
        if program.runtime not in RUNTIMES:
            yield f"{_shorten(program.runtime)!r} is no runtime"
        for output in each.reference:
            if not is_inside(output.file):
                yield f"the path {_shorten(output.file)!r} leads out of the folder"


def _workload_problems(workload: Workload | None) -> Iterator[str]:
    if workload is None:
        return
    if problem := find_workload_problem(workload):
        yield problem
    if not all(is_path(str(path)) for path in workload.files):
        yield "a workload has a path that no file can have"


def _experiment_problems(experiment: Experiment) -> Iterator[str]:
    if not _NAME.fullmatch(experiment.name) or not is_path(experiment.name):
        yield f"{_shorten(experiment.name)!r} is no name of an experiment"
    if experiment.mode not in MODES:
        yield f"{_shorten(experiment.mode)!r} is no mode"
    counts = (*experiment.threads, experiment.runs, experiment.traced_runs)
    if not experiment.threads or not all(1 <= count <= MOST_COUNT for count in counts):
        yield f"{experiment.name} has a count that is out of range"
    if find_problem(dict(experiment.load_options)):
        yield f"{experiment.name} has a load option that XNNPACK does not have"
    if not all(0 <= core < MOST_CORES for core in experiment.cpu_affinity):
        yield f"{experiment.name} names a core that no machine has"


def _session_problems(session: Session) -> Iterator[str]:
    if session.plan_path and not is_path(str(session.plan_path)):
        yield "its plan lies where no file can lie"
    known = set(session.plan.variants)
    for result in session.results:
        if result.variant not in known:
            yield f"{_shorten(result.experiment)!r} with {result.threads} threads is not in its plan"
    for name in session.reports:
        if not is_inside(name) or len(PurePosixPath(name).parts) != 1:
            yield f"the report {_shorten(name)!r} does not lie in the folder"
    if len({(result.variant, result.index) for result in session.results}) < len(session.results):
        yield "a block is there twice"
    cores = session.device.cpu_count, *(core for cluster in session.device.clusters for core in cluster.cores)
    if not all(0 <= core <= MOST_CORES for core in cores):
        yield "its device has a number of cores that no machine has"


def _exploration_problems(session: Session) -> Iterator[str]:
    if not {each.variant for each in session.dropped} <= set(session.plan.variants):
        yield "a variant was dropped that is not in its plan"
    exploration = session.exploration
    if exploration is None:
        return
    known = {candidate.experiment for candidate in exploration.candidates}
    if not {experiment.name for experiment in session.plan.experiments} <= known:
        yield "an experiment of its plan is none of the builds"
    snrs = (*(c.snr_db for c in exploration.candidates), *(loss.snr_db for loss in exploration.sensitivity))
    floors = (exploration.min_snr_db, exploration.min_metric, exploration.eager_metric)
    numbers = (*snrs, *floors, *(candidate.metric for candidate in exploration.candidates))
    if not all(isfinite(number) for number in numbers if number is not None):
        yield "an accuracy is no number"
    if any(abs(snr_db) > _MOST_DB for snr_db in snrs if snr_db is not None):
        yield "an SNR is out of range"
    if any(candidate.file_bytes < 0 for candidate in exploration.candidates if candidate.file_bytes is not None):
        yield "the size of a build is out of range"


def _result_problems(result: BlockResult) -> Iterator[str]:
    for name in (result.etdump, result.samples, result.steps, result.log, *(output.file for output in result.outputs)):
        if not is_inside(name):
            yield f"the path {_shorten(name)!r} leads out of the folder"
    if not 0 <= result.index < MOST_BLOCKS:
        yield "its number is out of range"
    if not 0 <= result.duration_s <= MOST_COUNT:
        yield "its duration is out of range"
    if problem := find_impossible(result):
        yield problem


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."
