"""Rules of advice for readers, and which of them a plan may switch off."""

from etprof.analysis.advice.rules import find_rule, load_rules
from etprof.core.advice import RuleText
from etprof.core.errors import PlanError, nearest_names_hint
from etprof.core.plan import Plan
from etprof.reports import rule_text


def list_rules() -> tuple[RuleText, ...]:
    return load_rules()


def describe_rule(wanted: str) -> str:
    """One rule in full, by its id."""
    return rule_text.render(find_rule(wanted))


def describe_rules() -> str:
    """Every rule, a line each."""
    return rule_text.render_list(load_rules())


def refuse_unknown_rules(plan: Plan) -> None:
    """Refuses a plan that switches off what there is not: a misspelt rule would be applied after all."""
    known = [rule.id for rule in load_rules()]
    for wanted in plan.advice_off:
        if wanted not in known:
            hint = nearest_names_hint(wanted, known) or f"Known rules: {', '.join(known)}."
            raise PlanError(f"analysis.advice_off names {wanted!r}, which is no rule of advice.", hint=hint)
