"""What a run knows after a round: the intervals that decide whether it goes on, and who is dropped from a race."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from etprof.analysis.exploration import find_dropped, list_undecided
from etprof.analysis.timing.speedup import estimate_speedup, log_ratios
from etprof.core.estimates import Interval
from etprof.core.plan import Block, Variant
from etprof.core.run import Session
from etprof.store.session_file import save_session

SEPARATED = "the front is separated: the order of every two variants left is known"


@dataclass(frozen=True)
class Standings:
    """The speed-ups that have to be narrow before the run ends, in a race those whose sign is open; and who rests.

    A variant of a race rests while its order against every other one is known, once it has the planned rounds.
    """

    speedups: tuple[Interval | None, ...] = ()
    resting: frozenset[Variant] = frozenset()


def find_standings(session: Session) -> Standings:
    if not session.device.times_are_real:
        return Standings()
    if session.exploration:
        undecided = list_undecided(session)
        open_ones = {variant for pair in undecided for variant in pair}
        rounds = session.plan.schedule.blocks
        known = {v for v in session.plan.variants if v not in open_ones and len(session.successful(v)) >= rounds}
        return Standings(tuple(undecided.values()), frozenset(known))
    seed = session.plan.schedule.seed
    return Standings(
        tuple(
            estimate_speedup(log_ratios(session.successful(before), session.successful(after)), seed)
            for before, after in dict.fromkeys((*session.plan.compared, *session.plan.thread_steps))
            if not {before, after} & set(session.given_up)
        )
    )


def is_wanted(block: Block, session: Session, standings: Standings) -> bool:
    """Whether the run needs this block, as far as it is known before its round."""
    if block.variant in session.left_out or block.variant in standings.resting:
        return False
    if any((result.variant, result.index) == (block.variant, block.index) for result in session.results):
        return False
    # A variant that rested does not make up for it: the others of those rounds ran long ago.
    latest = max((result.index for result in session.results), default=0) if session.exploration else 0
    return block.index < session.plan.schedule.blocks or block.index >= latest


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


def find_end(session: Session, rounds: int, standings: Standings) -> str:
    """Why a race is over; empty for any other run, and while a comparison is open or a planned round is missing."""
    is_over = session.exploration and session.device.times_are_real and not standings.speedups
    return SEPARATED if is_over and rounds >= session.plan.schedule.blocks else ""
