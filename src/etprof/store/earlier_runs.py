"""Several runs in one folder: the newest has the plain names, and nothing of the others is overwritten.

An earlier run of other experiments stays where it is, and its two session files get its time stamp into their names.
One of the same experiments moves to `earlier/<stamp>`, with everything that was written from it.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from etprof.core.errors import StoreError
from etprof.core.layout import (
    CHART_FOLDER,
    EARLIER_RUNS,
    MANIFEST,
    METRICS,
    MODEL_EXPLORER_FOLDER,
    PEAKS,
    list_stamps,
    llm_name,
    pipeline_summary_name,
    session_names,
)
from etprof.core.regular_files import read_regular
from etprof.core.run import Session
from etprof.store.json_file import is_unfinished, unfinished_name, write_bytes
from etprof.store.paths import check_inside, make_folder, reason_of, sync_folder
from etprof.store.session_file import has_session, load_session, save_manifest


class StoredSession(NamedTuple):
    """A session, the folder its files lie in, and the stamp in the names of its own two files, if any."""

    folder: Path
    session: Session
    stamp: str = ""


def list_joined(folder: Path) -> list[StoredSession]:
    """Runs of other experiments than the newest one's, beside it; the oldest first."""
    return [StoredSession(folder, load_session(folder, stamp), stamp) for stamp in list_stamps(folder)]


def list_earlier(folder: Path) -> list[StoredSession]:
    """Runs whose places newer ones have taken; the oldest first."""
    return [StoredSession(path, load_session(path)) for path in _list_folders(folder)]


def _list_folders(folder: Path) -> list[Path]:
    inside = sorted((folder / EARLIER_RUNS).glob("*"))
    return [path for path in inside if path.is_dir() and has_session(path) and not is_unfinished(path)]


def keep_earlier(folder: Path, experiments: Collection[str]) -> None:
    """Makes room in a folder for a new run of these experiments; whoever calls it holds the folder."""
    if not has_session(folder):
        return
    newest = StoredSession(folder, load_session(folder))
    for stored in (*list_joined(folder), newest):
        own = {experiment.name for experiment in stored.session.plan.experiments}
        if stored.session.is_older or not own.isdisjoint(experiments):
            _move_to_earlier(stored)
        elif not stored.stamp:
            _rename_session(stored, _free_stamp(stored))


def _move_to_earlier(stored: StoredSession) -> None:
    """First its two session files, which appear there at once: should the process end, `finish_moves` does the rest."""
    folder, session = stored.folder, stored.session
    target = folder / EARLIER_RUNS / _free_stamp(stored)
    prepared = unfinished_name(target)
    make_folder(prepared, durable=True)
    for name, kept in zip(session_names(stored.stamp), session_names(), strict=True):
        if (folder / name).exists():
            write_bytes(prepared / kept, read_regular(folder / name), durable=True)
    if not session.is_older:
        # Its paths lead from its folder, so it is written anew. Reports have been written over by a newer run's.
        save_manifest(prepared, replace(session, reports=()) if stored.stamp else session)
    _move(prepared, target, folder)
    sync_folder(target.parent)
    _move_files(stored, target)


def _move_files(stored: StoredSession, target: Path) -> None:
    """What belongs to a session that has its new place already; by the results, which go last, it is still found."""
    folder, session = stored.folder, stored.session
    names = [experiment.name for experiment in session.plan.experiments]
    if not stored.stamp:
        summaries = (pipeline_summary_name(session.plan.model.stem, suffix) for suffix in ("json", "md"))
        results = (llm_name(suffix) for suffix in ("md", "json", "csv"))
        names += [*session.reports, CHART_FOLDER, MODEL_EXPLORER_FOLDER, *summaries, *results, PEAKS]
    for name in names:
        _move(folder / name, target / name, folder)
    sync_folder(target)
    for name in session_names(stored.stamp):
        (folder / name).unlink(missing_ok=True)
        sync_folder(folder)


def finish_moves(folder: Path) -> None:
    """Goes on with what a process that was ended had begun to move; whoever calls it holds the folder."""
    for stamp in list_stamps(folder):
        if not (folder / session_names(stamp)[1]).exists() and not (folder / MANIFEST).exists():
            _move(folder / METRICS, folder / session_names(stamp)[1], folder)
    stamps = [path.name.removeprefix("metrics.").removesuffix(".json") for path in folder.glob("metrics.*.json")]
    for earlier in _list_folders(folder):
        for stamp in ("", *stamps):
            if _is_same(folder / session_names(stamp)[1], earlier / METRICS):
                session = load_session(earlier)
                names = [experiment.name for experiment in session.plan.experiments]
                # A folder that is in both places was not moved: this is another run with the same results.
                if not any((folder / name).exists() and (earlier / name).exists() for name in names):
                    _move_files(StoredSession(folder, session, stamp), earlier)


def _is_same(metrics: Path, moved: Path) -> bool:
    """Whether both hold the same results. A run that has none yet is like any other."""
    if not metrics.is_file() or not moved.is_file() or metrics.stat().st_size != moved.stat().st_size:
        return False
    content = read_regular(metrics)
    return content == read_regular(moved) and b'"experiment"' in content


def _rename_session(stored: StoredSession, stamp: str) -> None:
    for name, kept in zip(session_names(), session_names(stamp), strict=True):
        _move(stored.folder / name, stored.folder / kept, stored.folder)
        sync_folder(stored.folder)


def _move(source: Path, target: Path, folder: Path) -> None:
    if not source.exists():
        return
    check_inside(source, folder)
    check_inside(target, folder)
    try:
        source.rename(target)
    except OSError as error:
        raise StoreError(
            f"The earlier run in {folder} cannot be kept: {reason_of(error)}.",
            hint="Move it yourself, or choose another folder.",
        ) from error


def _free_stamp(stored: StoredSession) -> str:
    """When it was started, in UTC; a run that does not say it counts from now."""
    folder = stored.folder
    digits = re.sub(r"\D", "", stored.session.started_at)[:14]
    stamp = f"{digits[:8]}T{digits[8:]}Z" if len(digits) == 14 else datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    others = {*list_stamps(folder)} - {stored.stamp}
    taken = {*others, *(path.name for path in (folder / EARLIER_RUNS).glob("*"))}
    free, count = stamp, 2
    while free in taken:
        free, count = f"{stamp}-{count}", count + 1
    return free
