"""What operators outside of the delegate cost beyond their own time: calls, and layout changes at the cuts."""

from collections.abc import Sequence
from itertools import takewhile

from etprof.analysis.advice.facts import Facts, Operator
from etprof.analysis.advice.wording import tell, tell_longest, tell_time
from etprof.core.categories import DATA_MOVEMENT, DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD, plain_name
from etprof.core.operators import OperatorId
from etprof.core.refusals import find_refusal, plain_operator
from etprof.core.units import format_ms

_MOST_REWRITES = 2
# How a program changes a buffer, as long as it does not do so in its place.
_CHANGE, _COPY_BACK = "index_put", "copy_"


def operator_of(name: str) -> str:
    """gelu for native_call_gelu.out #3, aten::gelu.out and aten.gelu.default."""
    return plain_operator(plain_name(name))


def measure_around_ms(facts: Facts) -> float:
    """Calls through the runtime; where the model is cut, also delegate calls and data movement at their edges."""
    around = facts.overhead_ms(FRAMEWORK_OVERHEAD)
    if facts.calls > 1:
        around += facts.overhead_ms(DELEGATE_OVERHEAD) + sum(each.row.mean_ms for each in _list_edge_moves(facts))
    return around


def tell_undelegated(facts: Facts, operators: Sequence[Operator]) -> str:
    if facts.variant is None:
        return tell(facts, operators)
    them = "them" if len(operators) > 1 else "it"
    around = format_ms(measure_around_ms(facts))
    return f"{tell_time(operators)}, calls and layout changes around {them} {around}; {tell_longest(facts, operators)}"


def list_state_changes(facts: Facts) -> tuple[Operator, ...]:
    """Copies back to buffers, which no other operator is called like, and the operators that made what is copied.

    These are told from others by their shapes, which are not known of a workload: there all of them count.
    """
    portable = [each for each in facts.operators if not each.row.delegated]
    copies = [each for each in portable if operator_of(each.row.name) == _COPY_BACK]
    shapes = {_shape_of(each) for each in copies} - {()}
    made = [each for each in portable if operator_of(each.row.name) == _CHANGE]
    changes = [each for each in made if not shapes or _shape_of(each) in shapes]
    return (*changes, *copies) if changes and copies else ()


def _shape_of(operator: Operator) -> tuple[int, ...]:
    outputs = operator.node.outputs if operator.node else ()
    return outputs[0].shape if outputs else ()


def find_reason(facts: Facts, operator: str) -> str:
    """The partitioner's own words on why it left an operator, such as gelu; empty where it gave none."""
    meta = facts.background.export_meta
    left = meta.delegation.left if meta else ()
    return next((each.reason.rstrip(".") for each in left if operator_of(each.operator) == operator), "")


def tell_reason(facts: Facts, operator: str) -> str:
    """The same as a sentence, after a space."""
    reason = find_reason(facts, operator)
    return f" The partitioner says: {reason}." if reason else ""


def find_rewrites(facts: Facts, operators: Sequence[Operator]) -> str:
    """What to write instead of the first of them for which that is known; empty where it is for none.

    Of an operator without a node, what holds for tensors of any rank comes first.
    """
    texts: dict[str, dict[str, None]] = {}
    for each in operators:
        name = operator_of(each.row.name)
        reason = find_reason(facts, name)
        known = find_refusal(name, each.node, reason)
        if known and known.ranks and each.node is None:
            known = find_refusal("", reason=reason) or known
        if known:
            code = f" Before: `{known.before}`. After: `{known.instead}`." if known.instead else ""
            texts.setdefault(f"{known.advice}{code}", {})[name] = None
    return " ".join(f"{', '.join(names)}: {text}" for text, names in list(texts.items())[:_MOST_REWRITES])


def _list_edge_moves(facts: Facts) -> list[Operator]:
    """Data movement with which delegate calls begin and end."""
    calls: dict[tuple[int, str, int], list[Operator]] = {}
    for each in sorted(facts.operators, key=lambda each: each.identity.order):
        if each.row.delegated:
            calls.setdefault(each.identity.of_call, []).append(each)
    edges: dict[OperatorId, Operator] = {}
    for operators in calls.values():
        for side in (operators, operators[::-1]):
            edges |= {each.identity: each for each in takewhile(_moves_data, side)}
    return list(edges.values())


def _moves_data(operator: Operator) -> bool:
    return operator.row.category == DATA_MOVEMENT
