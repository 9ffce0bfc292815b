"""The folder a run is written to: a new run never mixes with an older one."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from etprof.core.errors import StoreError, UsageError
from etprof.core.run import Session
from etprof.store.paths import check_path, make_folder, reason_of
from etprof.store.session_file import has_session, load_session


def prepare_run_folder(folder: Path, *, force: bool) -> None:
    """Makes the folder ready for a new run; with `force`, an older run moves aside to a name with a time stamp.

    So does one in which no block succeeded: it holds nothing that a new try could destroy.
    """
    if has_session(check_path(folder)):
        if not force and _holds_results(folder):
            raise UsageError(
                f"{folder} already holds a run.",
                hint="Add --force to move it aside, --resume to finish it, or --output-root to name another folder.",
            )
        _move_aside(folder)
    make_folder(folder)


def _holds_results(folder: Path) -> bool:
    """Also where that cannot be told: what is not understood is not touched."""
    try:
        return any(result.is_ok for result in load_session(folder).results)
    except StoreError:
        return True


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
        "model file": older.model_sha256 == asked.model_sha256,
        "input files": older.inputs_sha256 == asked.inputs_sha256,
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


def _comparable(session: Session) -> object:
    """The plan without what may differ between two ways to name the same files."""
    plan = session.plan
    return replace(plan, model=plan.model.resolve(), output_root=plan.output_root.resolve(), inputs=())


def _free_name(folder: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = folder.with_name(f"{folder.name}.{stamp}")
    count = 2
    while target.exists():
        target = folder.with_name(f"{folder.name}.{stamp}-{count}")
        count += 1
    return target
