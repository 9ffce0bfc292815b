"""What a run knows after a round: the intervals that decide whether it goes on, and who is dropped from a race."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from etprof.analysis.exploration import find_dropped, list_undecided
from etprof.analysis.timing.speedup import estimate_speedup, log_ratios
from etprof.core.estimates import Interval
from etprof.core.run import Session
from etprof.store.session_file import save_session

SEPARATED = "the front is separated: the order of every two variants left is known"


def list_speedups(session: Session) -> list[Interval | None]:
    """Those that have to be narrow before the run ends; in a race those whose sign is open."""
    if not session.device.times_are_real:
        return []
    if session.exploration:
        return list_undecided(session)
    seed = session.plan.schedule.seed
    return [
        estimate_speedup(log_ratios(session.successful(before), session.successful(after)), seed)
        for before, after in dict.fromkeys((*session.plan.compared, *session.plan.thread_steps))
        if not {before, after} & set(session.given_up)
    ]


def may_add_rounds(session: Session) -> bool:
    plan = session.plan
    return session.device.times_are_real and bool(plan.compared or plan.thread_steps or session.exploration)


def drop_beaten(session: Session, tell: Callable[[str, int], None]) -> Session:
    """The session without those that a race has decided; `tell` hears of each, and how many blocks it does not get."""
    if session.exploration is None or not session.device.times_are_real:
        return session
    dropped = find_dropped(session, session.exploration)
    if not dropped:
        return session
    session = replace(session, dropped=(*session.dropped, *dropped))
    save_session(session.plan.output_root, session)
    for each in dropped:
        missing = session.plan.schedule.blocks - each.rounds
        tell(f"{each.variant.label} is dropped: {each.reason}", max(missing, 0))
    return session


def find_end(session: Session, rounds: int, speedups: Sequence[Interval | None]) -> str:
    """Why a race is over; empty for any other run, and while a comparison is open or a planned round is missing."""
    is_over = session.exploration and session.device.times_are_real and not speedups
    return SEPARATED if is_over and rounds >= session.plan.schedule.blocks else ""
