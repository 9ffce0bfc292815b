"""The folder a run is written to: a new run never mixes with an older one."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.core.run import Session
from etprof.store.session_file import has_session


def prepare_run_folder(folder: Path, *, force: bool) -> None:
    """Makes the folder ready for a new run; with `force`, an older run moves aside to a name with a time stamp."""
    if has_session(folder):
        if not force:
            raise UsageError(
                f"{folder} already holds a run.",
                hint="Add --force to move it aside, --resume to finish it, or give the plan another output_root.",
            )
        folder.rename(_free_name(folder))
    folder.mkdir(parents=True, exist_ok=True)


def check_resumable(older: Session, asked: Session) -> None:
    """A run may only go on as what it was: same plan, same bytes, same machine."""
    checks = {
        "plan": _comparable(older) == _comparable(asked),
        "model file": older.model_sha256 == asked.model_sha256,
        "input files": older.inputs_sha256 == asked.inputs_sha256,
        "device": older.device == asked.device,
        "installed versions": dict(older.versions) == dict(asked.versions),
    }
    changed = [name for name, same in checks.items() if not same]
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
