"""The words that rules share: how many operators, how long they take, which is the longest, and where they are."""

from collections.abc import Sequence

from etprof.analysis.advice.facts import Facts, Operator
from etprof.core.units import format_count, format_ms

_LISTED = 3


def tell(facts: Facts, operators: Sequence[Operator]) -> str:
    """Without a full stop. Of a run it has times, without one the modules."""
    if facts.variant is None:
        return f"{count_operators(operators)}{list_places(facts, operators)}"
    return f"{tell_time(operators)}; {tell_longest(facts, operators)}"


def tell_time(operators: Sequence[Operator]) -> str:
    count = f"{count_operators(operators)} take" if len(operators) > 1 else "One operator takes"
    return f"{count} {format_ms(sum(each.row.mean_ms for each in operators))}"


def count_operators(operators: Sequence[Operator]) -> str:
    """3 operators; of a workload 3 operators in 2 kinds of inferences, which have a time in each of them."""
    alike = {each.identity.of_kind(None) for each in operators}
    kinds = {each.identity.kind for each in operators}
    return f"{format_count(len(alike), 'operator')}{f' in {len(kinds)} kinds of inferences' if len(kinds) > 1 else ''}"


def tell_longest(facts: Facts, operators: Sequence[Operator]) -> str:
    longest = max(operators, key=lambda each: each.row.mean_ms)
    place = facts.find_place(longest)
    where = f" ({place})" if place else ""
    if len(operators) == 1:
        return f"it is {longest.row.name}{where}"
    return f"the longest is {longest.row.name}{where} with {format_ms(longest.row.mean_ms)}"


def list_places(facts: Facts, operators: Sequence[Operator]) -> str:
    """The first modules in parentheses, after a space; empty where none is known."""
    places = list(dict.fromkeys(filter(None, map(facts.find_place, operators))))
    if not places:
        return ""
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    return f" ({', '.join(places[:_LISTED])}{more})"
