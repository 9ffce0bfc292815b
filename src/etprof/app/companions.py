"""Which earlier runs of a folder belong to its newest one: latency from timing runs, kernels from trace runs."""

from dataclasses import replace
from pathlib import Path

from etprof.core.plan import MODES, TIMING, TRACE, Experiment
from etprof.core.run import Session
from etprof.core.workload import Workload
from etprof.store.earlier_runs import StoredSession, list_earlier, list_joined
from etprof.store.session_file import load_session

_GIVES = {TIMING: "latency is", TRACE: "kernels are"}


def find_companions(folder: Path, newest: Session) -> tuple[list[StoredSession], tuple[str, ...]]:
    """Runs beside the newest one; then, for a mode that none of them has, the last of the earlier runs that has it.

    The sentences say what comes from where, and which run measured something else and is left out.
    """
    if newest.is_older:
        return [], ()
    joined = list_joined(folder)
    taken = [each for each in joined if not _difference(each.session, newest)]
    notes = [_describe_left_out(each, newest) for each in joined if _difference(each.session, newest)]
    for mode in MODES:
        if any(_has_results(each, mode) for each in (newest, *(stored.session for stored in taken))):
            continue
        known = {e.name for each in (newest, *(stored.session for stored in taken)) for e in each.plan.experiments}
        fitting = [
            stored
            for stored in list_earlier(folder)
            if _has_results(stored.session, mode) and not _difference(stored.session, newest)
        ]
        taken[:0] = [_only_mode(stored, mode, known) for stored in fitting[-1:]]
    origins = _describe_origins([*taken, StoredSession(folder, newest)]) if taken else ""
    return taken, tuple(note for note in (origins, *notes) if note)


def describe_runs(folder: Path) -> list[str]:
    """A line for each run in a folder that holds several, the newest first."""
    others = [*reversed(list_joined(folder)), *reversed(list_earlier(folder))]
    if not others:
        return []
    lines = [f"newest run: {_describe(load_session(folder))}"]
    return lines + [f"earlier run: {_describe(each.session)}, in {_place(each, folder)}" for each in others]


def _difference(one: Session, newest: Session) -> str:
    """Why two runs do not belong together, as a phrase."""
    ours, theirs = ({each.model_sha256 for each in session.programs} for session in (newest, one))
    if not (ours <= theirs or theirs <= ours):
        return f"measured another model file, {', '.join(one.model_names)}"
    if not _list_workloads(one) & _list_workloads(newest):
        return "ran another workload"
    if one.device.cpu_model != newest.device.cpu_model or one.device.times_are_real != newest.device.times_are_real:
        return f"was made on another device, {one.device.name} ({one.device.cpu_model})"
    return ""


def _list_workloads(session: Session) -> set[Workload | None]:
    return {each.program.workload and each.program.workload.outline for each in session.programs}


def _has_results(session: Session, mode: str) -> bool:
    return any(r.is_ok and session.plan.experiment(r.experiment).mode == mode for r in session.results)


def _only_mode(stored: StoredSession, mode: str, taken: set[str]) -> StoredSession:
    """The part of an earlier run that has this mode; names that newer experiments have get the mode behind them."""
    session = stored.session

    def rename(name: str) -> str:
        return f"{name}_{mode}" if name in taken else name

    own: tuple[Experiment, ...] = tuple(e for e in session.plan.experiments if e.mode == mode)
    names = {e.name for e in own}
    plan = replace(
        session.plan,
        experiments=tuple(replace(e, name=rename(e.name)) for e in own),
        pairs=tuple(
            replace(p, baseline=rename(p.baseline), candidate=rename(p.candidate))
            for p in session.plan.pairs
            if {p.baseline, p.candidate} <= names
        ),
    )
    results = tuple(replace(r, experiment=rename(r.experiment)) for r in session.results if r.experiment in names)
    programs = tuple(
        replace(each, experiments=tuple(rename(name) for name in each.experiments if name in names))
        for each in session.programs
    )
    programs = tuple(each for each in programs if each.experiments)
    return stored._replace(session=replace(session, plan=plan, results=results, programs=programs))


def _describe_origins(runs: list[StoredSession]) -> str:
    parts = []
    for mode in MODES:
        origins = [each.session for each in runs if _has_results(each.session, mode)]
        listed = " and ".join(f"the run of {each.started_at} ({_list_names(each, mode)})" for each in origins)
        parts += [f"{_GIVES[mode]} from {listed}"] if listed else []
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _describe_left_out(stored: StoredSession, newest: Session) -> str:
    return f"The run of {stored.session.started_at} is left out: it {_difference(stored.session, newest)}."


def _describe(session: Session) -> str:
    names = [f"{mode}: {listed}" for mode in MODES if (listed := _list_names(session, mode))]
    return f"{session.started_at}, {'; '.join(names)} ({len(session.results)} blocks)"


def _list_names(session: Session, mode: str) -> str:
    return ", ".join(e.name for e in session.plan.experiments if e.mode == mode)


def _place(stored: StoredSession, folder: Path) -> str:
    return f"manifest.{stored.stamp}.json" if stored.stamp else str(stored.folder.relative_to(folder))
