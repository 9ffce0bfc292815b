"""The rules of advice: every module here that has a RULE is one; a new file is all that a new rule needs."""

import pkgutil
from functools import cache
from importlib import import_module

from etprof.analysis.advice.rule import Rule
from etprof.core.errors import UnknownNameError


@cache
def load_rules() -> tuple[Rule, ...]:
    """In the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").RULE for name in names)


def find_rule(wanted: str) -> Rule:
    rules = {rule.id: rule for rule in load_rules()}
    if wanted not in rules:
        hint = "`etprof explain --rules` lists every rule."
        raise UnknownNameError("rule of advice", wanted, rules, hint=hint)
    return rules[wanted]
