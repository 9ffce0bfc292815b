"""The order of blocks, and when there are enough of them.

Variants take turns, forwards and backwards (ABBA), so that a drift of the machine hits all of them alike. More rounds
are run while an interval is too wide: stopping by the width of the interval, unlike stopping by its verdict, does not
make false claims likelier (Kruschke, Doing Bayesian Data Analysis, 2014, chapter 13).
"""

from collections.abc import Collection, Sequence
from math import ceil

from etprof.core.estimates import Interval
from etprof.core.plan import SEQUENTIAL, Block, Plan, Variant

# Fewer give no interval, and then the time they took was spent for nothing.
_LEAST_ROUNDS = 3
NOTHING_LEFT = "no variant is left to run: the first two blocks of each failed the same way"


def build_round(plan: Plan, index: int) -> tuple[Block, ...]:
    """One block of every variant; the order turns round each time."""
    variants = plan.variants if index % 2 == 0 else plan.variants[::-1]
    return tuple(_block(plan, variant, index) for variant in variants)


def _block(plan: Plan, variant: Variant, index: int) -> Block:
    return Block(plan.experiment(variant.experiment), variant.threads, index)


def build_rounds(plan: Plan) -> tuple[tuple[Block, ...], ...]:
    """The rounds that are run in any case; a sequential plan is one round of each variant's blocks in turn."""
    if plan.schedule.order == SEQUENTIAL:
        return (tuple(_block(plan, each, index) for each in plan.variants for index in range(plan.schedule.blocks)),)
    return tuple(build_round(plan, index) for index in range(plan.schedule.blocks))


def least_rounds(plan: Plan) -> int:
    """The rounds that are run whatever they take."""
    return min(_LEAST_ROUNDS, plan.schedule.blocks)


def budget_spent(plan: Plan) -> str:
    """The reason to stop for a run whose next block would end too late."""
    return f"the time budget of {plan.schedule.time_budget_s:g} s is spent"


def reason_to_stop(plan: Plan, rounds: int, speedups: Sequence[Interval | None], *, fits: bool) -> str:
    """Why no further round is needed after `rounds` of them; empty when one is. `fits`: it would end in time."""
    schedule = plan.schedule
    if not fits and rounds >= least_rounds(plan):
        return budget_spent(plan)
    if rounds < schedule.blocks:
        return ""
    if schedule.max_blocks > schedule.blocks and speedups and all(_is_narrow(s, plan) for s in speedups):
        return f"every interval is narrower than {schedule.target_precision:.1%} to either side"
    done = f"all {rounds} planned rounds were run" if rounds != 1 else "the planned round was run"
    if rounds >= schedule.max_blocks:
        return done
    return "" if speedups else f"{done}; there is no pair whose precision could be met"


def expect_rounds(plan: Plan, rounds: int, speedups: Sequence[Interval | None]) -> int:
    """How many rounds there will be, were the intervals after `rounds` typical: they shrink with the root of rounds."""
    schedule = plan.schedule
    known = [_half_width(each) for each in speedups if each is not None]
    wanted = max((ceil(rounds * (width / schedule.target_precision) ** 2) for width in known), default=0)
    return min(max(schedule.blocks, wanted), schedule.max_blocks)


def list_blocks_left(plan: Plan, rounds: int, done: Sequence[Variant], left_out: Collection[Variant]) -> list[Variant]:
    """One entry for each block that is missing for `rounds` rounds; `done` has one for each that was run."""
    active = [variant for variant in plan.variants if variant not in left_out]
    return [variant for variant in active for _ in range(rounds - done.count(variant))]


def _is_narrow(speedup: Interval | None, plan: Plan) -> bool:
    if speedup is None:
        return False
    return _half_width(speedup) <= plan.schedule.target_precision


def _half_width(speedup: Interval) -> float:
    return (speedup.high - speedup.low) / 2 / speedup.value
