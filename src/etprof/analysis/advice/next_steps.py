"""What to do next: every rule of advice is applied to what is known, and the largest gain comes first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from etprof.analysis.advice.certainty import lowest_ms, smallest_visible_ms
from etprof.analysis.advice.facts import Background, Facts, Operator
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.rules import load_rules
from etprof.core.advice import ModelStep, SavedFrom
from etprof.core.operators import DELEGATED, OperatorId
from etprof.core.plan import Variant
from etprof.core.report import Comparison, NextStep, VariantReport, variants_to_improve

_WORTHWHILE = 0.01
_MOST = 8


def find_next_steps(
    variants: Sequence[VariantReport],
    comparisons: Sequence[Comparison],
    backgrounds: Mapping[Variant, Background] | None = None,
) -> tuple[NextStep, ...]:
    """The largest gain first; nothing that could not be told from noise. What is no part of an inference comes last."""
    by_variant = {each.variant: each for each in variants}
    steps: list[NextStep] = []
    for variant in variants_to_improve(variants, comparisons):
        background = (backgrounds or {}).get(variant.variant, Background())
        compared = [(by_variant.get(each.baseline), each) for each in comparisons if each.candidate == variant.variant]
        facts = _gather_facts(variant, [(was, each) for was, each in compared if was], background)
        steps += [_build_step(rule, match, variant, facts) for rule, match in _apply_rules(facts)]
    ranked = sorted(steps, key=lambda step: -step.saves_ms)
    inferences = [step for step in ranked if step.saved_from == SavedFrom.INFERENCE]
    return (*inferences[:_MOST], *(step for step in ranked if step.saved_from != SavedFrom.INFERENCE))


def find_model_steps(facts: Facts) -> tuple[ModelStep, ...]:
    """Of a model without a run: the largest share first, then what has none that is known."""
    steps = []
    for rule, match in _apply_rules(facts):
        whole, measure = facts.measure_share(match.operators)
        share = None if whole is None else whole * match.part
        if share is None or share >= _WORTHWHILE:
            steps.append(ModelStep(rule.id, match.title, share, measure, match.reason, match.advice or rule.advice))
    return tuple(sorted(steps, key=lambda step: -(step.share or 0.0)))


def _gather_facts(
    variant: VariantReport, compared: Sequence[tuple[VariantReport, Comparison]], background: Background
) -> Facts:
    operators = []
    for row in variant.operators:
        node = background.nodes.get(row.identity)
        key = (row.identity.call if row.identity.group == DELEGATED else None, node.index) if node else None
        operators.append(Operator(row, node, background.predictions.get(key) if key else None))
    return Facts(
        operators=tuple(operators),
        background=background,
        layout_changes=variant.layout_changes,
        cancelling=variant.cancelling,
        variant=variant,
        compared=tuple(compared),
    )


def _apply_rules(facts: Facts) -> Iterator[tuple[Rule, Match]]:
    """Level by level, each without what the levels below have found."""
    wanted = [rule for rule in load_rules() if rule.id not in facts.background.off and _applies(rule, facts)]
    for level in Level:
        claimed: set[OperatorId] = set()
        for rule in wanted:
            for match in rule.find(facts) if rule.level == level else ():
                if facts.variant is None or _is_visible(match, facts.variant, facts):
                    claimed |= {operator.identity for operator in match.operators}
                    yield rule, match
        facts = replace(facts, claimed=facts.claimed | claimed)


def _applies(rule: Rule, facts: Facts) -> bool:
    return not (rule.needs_run and facts.variant is None) and not (rule.about_sme and not facts.has_sme)


def _is_visible(match: Match, variant: VariantReport, facts: Facts) -> bool:
    """Whether the saving is worthwhile, and more than noise even where the operators take the least they may take."""
    lowest = lowest_ms([operator.row for operator in match.operators]) * match.part + match.extra_ms
    return _share(match, facts) >= _WORTHWHILE and lowest >= smallest_visible_ms(variant)


def _build_step(rule: Rule, match: Match, variant: VariantReport, facts: Facts) -> NextStep:
    return NextStep(
        variant=variant.variant,
        rule=rule.id,
        title=match.title,
        saves_ms=_saves_ms(match),
        share=_share(match, facts),
        reason=match.reason,
        advice=match.advice or rule.advice,
        is_bound=match.is_bound,
        saved_from=match.saved_from,
        operators=tuple(operator.identity for operator in match.operators),
    )


def _saves_ms(match: Match) -> float:
    return sum(operator.row.mean_ms for operator in match.operators) * match.part + match.extra_ms


def _share(match: Match, facts: Facts) -> float:
    if match.whole_ms:
        return _saves_ms(match) / match.whole_ms
    beside = match.extra_ms / facts.whole_ms if facts.whole_ms else 0.0
    return sum(operator.row.share for operator in match.operators) * match.part + beside
