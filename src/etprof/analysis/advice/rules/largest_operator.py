"""The operator that takes most time."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.core.categories import DATA_MOVEMENT, ELEMENTWISE
from etprof.core.data_types import find_data_type
from etprof.core.units import format_ms


def _find(facts: Facts) -> Iterator[Match]:
    rows = [each for each in facts.operators if each.row.delegated]
    computing = [each for each in rows if each.row.category not in (DATA_MOVEMENT, ELEMENTWISE)]
    if not computing:
        return
    operator = max(computing, key=lambda each: each.row.mean_ms)
    row, longest = operator.row, max(facts.operators, key=lambda each: each.row.mean_ms)
    which = "The longest operator" if operator is longest else f"The longest {row.category} operator"
    is_int8 = "int8" in find_data_type(row.name)
    smaller = "A smaller layer" if is_int8 else "A smaller or quantised layer"
    where = f" in {row.module_path}" if row.module_path else ""
    yield Match(
        title=f"Shrink{'' if is_int8 else ' or quantise'} {row.name}",
        reason=f"{which}{where}: {format_ms(row.mean_ms)}.",
        operators=(operator,),
        advice=f"{smaller}, or a shape with an efficient kernel, has the largest effect here.",
    )


RULE = Rule(
    id="largest-operator",
    title="The longest operator",
    looks_at="the delegated operator that takes most time, without data movement and elementwise operators",
    bound="the time of this operator",
    advice="A smaller or quantised layer, or a shape with an efficient kernel, has the largest effect here.",
    snippet="""\
# INT8 multiplies several times as many numbers in an instruction as fp32:
#   etprof export MODEL --quantize""",
    needs_run=True,
    level=Level.GENERAL,
    find=_find,
)
