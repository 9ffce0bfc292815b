"""The order of blocks, and when there are enough of them.

Variants take turns, forwards and backwards (ABBA), so that a drift of the machine hits all of them alike. More rounds
are run while an interval is too wide: stopping by the width of the interval, unlike stopping by its verdict, does not
make false claims likelier (Kruschke, Doing Bayesian Data Analysis, 2014, chapter 13).
"""

from collections.abc import Sequence

from etprof.core.plan import SEQUENTIAL, Block, Plan, Variant
from etprof.core.report import Interval

# Fewer give no interval, and then the time they took was spent for nothing.
_LEAST_ROUNDS = 3


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


def reason_to_stop(plan: Plan, rounds: int, speedups: Sequence[Interval | None], spent_s: float) -> str:
    """Why no further round is needed after `rounds` of them; empty when one is."""
    schedule = plan.schedule
    budget = schedule.time_budget_s
    if budget is not None and rounds >= min(_LEAST_ROUNDS, schedule.blocks) and spent_s + spent_s / rounds > budget:
        return f"the time budget of {budget:g} s is spent"
    if rounds < schedule.blocks:
        return ""
    if schedule.max_blocks > schedule.blocks and speedups and all(_is_narrow(s, plan) for s in speedups):
        return f"every interval is narrower than {schedule.target_precision:.1%} to either side"
    if rounds >= schedule.max_blocks:
        return f"all {rounds} planned rounds were run"
    return "" if speedups else f"all {rounds} planned rounds were run; there is no pair whose precision could be met"


def _is_narrow(speedup: Interval | None, plan: Plan) -> bool:
    if speedup is None:
        return False
    return (speedup.high - speedup.low) / 2 / speedup.value <= plan.schedule.target_precision
