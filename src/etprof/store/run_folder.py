"""The folder a run is written to: earlier runs in it are kept, and nothing of them is overwritten."""

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError, UsageError
from etprof.core.layout import EARLIER_RUNS, RUN_LOCK, list_stamps
from etprof.core.run import Session
from etprof.store.earlier_runs import finish_moves, keep_earlier
from etprof.store.json_file import is_unfinished
from etprof.store.paths import check_path, make_folder, reason_of
from etprof.store.plan_paths import change_program_paths
from etprof.store.run_lock import hold_run_folder
from etprof.store.session_file import has_session, load_session


@contextmanager
def new_run_folder(folder: Path, experiments: Collection[str], *, force: bool) -> Iterator[None]:
    """The folder of a new run of these experiments, which nobody else writes to meanwhile; earlier runs are kept."""
    prepare_run_folder(folder, force=force)
    with hold_run_folder(folder):
        finish_moves(folder)
        refuse_what_cannot_be_kept(folder)
        keep_earlier(folder, experiments)
        yield


def prepare_run_folder(folder: Path, *, force: bool) -> None:
    """Makes the folder; with `force`, all that it holds moves aside to a name with a time stamp.

    So does a run in which no block succeeded, where it is the only one: it holds nothing that a new try could destroy.
    """
    if has_session(check_path(folder)):
        with hold_run_folder(folder):
            if force or _holds_nothing(folder):
                _move_aside(folder)
    make_folder(folder, durable=True)


def has_begun(folder: Path) -> bool:
    """Whether there is anything to resume: not in a folder whose run was cut off before its first file was in place.

    That the runs before it are in theirs is seen to.
    """
    if not folder.is_dir():
        return True
    with hold_run_folder(folder):
        finish_moves(folder)
    has_earlier = list_stamps(folder) or (folder / EARLIER_RUNS).exists()
    return has_session(folder) or (
        not has_earlier and any(path.name != RUN_LOCK and not is_unfinished(path) for path in folder.glob("*"))
    )


def remove_unfinished(folder: Path) -> None:
    """Removes files that a process was writing when it was ended."""
    inside = (*folder.glob(".*"), *(path for path in folder.glob("*/.*") if not path.parent.is_symlink()))
    for path in filter(is_unfinished, inside):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def refuse_what_cannot_be_kept(folder: Path) -> None:
    """What is not understood is not touched, and a run that was interrupted is to be finished first."""
    if not has_session(folder):
        return
    hint = "Add --force to move it aside, --resume to finish it, or --output-root to name another folder."
    try:
        session = load_session(folder)
    except StoreError as error:
        raise UsageError(f"{folder} already holds a run, which cannot be read: {error.message}", hint=hint) from error
    if not session.stop_reason and any(result.is_ok for result in session.results):
        raise UsageError(f"{folder} already holds a run, which was interrupted.", hint=hint)


def _holds_nothing(folder: Path) -> bool:
    if list_stamps(folder) or (folder / EARLIER_RUNS).exists():
        return False
    try:
        return not any(result.is_ok for result in load_session(folder).results)
    except StoreError:
        return False


def _move_aside(folder: Path) -> None:
    here, real = Path.cwd(), folder.resolve()
    if here.is_relative_to(real):
        raise UsageError(
            f"The older run in {real} cannot be moved aside: it is the current folder, or above it.",
            hint="Run the command from another folder.",
        )
    try:
        folder.rename(_free_name(folder))
    except OSError as error:
        raise StoreError(
            f"The older run in {folder} cannot be moved aside: {reason_of(error)}.",
            hint="Move it yourself, or choose another folder.",
        ) from error


def check_resumable(older: Session, asked: Session) -> None:
    """A run may only go on as what it was: same plan, same bytes, same machine in the same state."""
    checks = {
        "plan": _comparable(older) == _comparable(asked),
        "model file": _list(older, "model_sha256") == _list(asked, "model_sha256"),
        "input files": _list(older, "inputs_sha256") == _list(asked, "inputs_sha256"),
        "device": older.device == asked.device,
        "installed versions": dict(older.versions) == dict(asked.versions),
        "settings of --prepare": older.prepared == asked.prepared,
    }
    changed = [name for name, same in checks.items() if not same]
    digests, present = dict(older.runner_sha256), dict(asked.runner_sha256)
    changed += [name for name in {**digests, **present} if digests.get(name) != present.get(name)]
    if changed:
        raise UsageError(
            f"The run cannot be resumed: since it began the {' and the '.join(changed)} changed.",
            hint="Start over with --force, which moves the older run aside.",
        )


def _list(session: Session, fact: str) -> list[object]:
    return [getattr(program, fact) for program in session.programs]


def _comparable(session: Session) -> object:
    """The plan without what may differ between two ways to name the same programs, and the programs themselves.

    How long a run may take does not change what it measures: it may go on with more time.
    """
    plan, nothing = session.plan, Path()
    unnamed: dict[str, Any] = {"method": "", "inputs": (), "input_shapes": (), "runtime": "", "workload": None}
    experiments = tuple(replace(each, model=None, **unnamed) for each in plan.experiments)
    schedule = replace(plan.schedule, time_budget_s=None)
    root = plan.output_root.resolve()
    plan = replace(plan, schedule=schedule, model=nothing, output_root=root, experiments=experiments, **unnamed)
    programs = [
        (replace(change_program_paths(each.program, Path.resolve), inputs=()), each.experiments)
        for each in session.programs
    ]
    return plan, programs


def _free_name(folder: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = folder.with_name(f"{folder.name}.{stamp}")
    count = 2
    while target.exists():
        target = folder.with_name(f"{folder.name}.{stamp}-{count}")
        count += 1
    return target
