"""Which operators a backend took, which it left, and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from etprof.core.model import Delegation, LeftOperator
from etprof.core.refusals import NO_RULE

# Bookkeeping that is neither an operator of the model nor work of its own.
_NOT_OPERATORS = ("getitem", "executorch_call_delegate", "alloc", "sym_size", "_local_scalar_dense")


def describe_delegation(modules: Sequence[Any], refusals: Mapping[str, str], with_a_rule: frozenset[str]) -> Delegation:
    """The `delegation` part of export_meta.json, from the lowered graph of each method before it is emitted.

    `refusals` holds the partitioner's own words by node name, `with_a_rule` the operators it considers at all. The
    reason is empty where neither tells.
    """
    delegated: Counter[str] = Counter()
    left: dict[tuple[str, str], int] = Counter()
    partitions = 0
    for module, node in ((each, node) for each in modules for node in each.graph.nodes):
        if is_delegate_call(node):
            partitions += 1
            inner = getattr(module, node.args[0].target).original_module.graph.nodes
            delegated.update(operator_name(n) for n in inner if is_operator(n))
        elif is_operator(node):
            left[operator_name(node), _reason(node, refusals, with_a_rule)] += 1
    total = sum(delegated.values()) + sum(left.values())
    return Delegation(
        partitions=partitions,
        operators_delegated=sum(delegated.values()),
        operators_left=sum(left.values()),
        delegated_share=round(sum(delegated.values()) / total, 4) if total else 0.0,
        delegated=dict(sorted(delegated.items())),
        left=tuple(LeftOperator(operator, count, reason) for (operator, reason), count in sorted(left.items())),
    )


def is_delegate_call(node: Any) -> bool:
    return node.op == "call_function" and "executorch_call_delegate" in str(node.target)


def is_operator(node: Any) -> bool:
    return node.op == "call_function" and not any(word in str(node.target) for word in _NOT_OPERATORS)


def operator_name(node: Any) -> str:
    """aten.convolution.default, with or without the edge dialect's wrapper around it."""
    target = node.target._op if type(node.target).__name__ == "EdgeOpOverload" else node.target
    return str(target) if hasattr(target, "_schema") else getattr(target, "__name__", str(target))


def _reason(node: Any, refusals: Mapping[str, str], with_a_rule: frozenset[str]) -> str:
    if node.name in refusals:
        return refusals[node.name]
    if not with_a_rule:
        return "the portable backend delegates nothing"
    # The partitioner's own spelling leaves the namespace out: mean.dim for aten.mean.dim.
    known = operator_name(node).split(".", 1)[-1] in with_a_rule
    return "" if known else NO_RULE
