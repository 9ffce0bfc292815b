"""One verdict for the whole of a check."""

from hypothesis import given
from hypothesis import strategies as st

from etprof.core.regression import Outcome, RegressionCheck, VariantCheck, worst

ORDER = [Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS]


@given(st.lists(st.sampled_from(Outcome)))
def test_the_whole_is_as_bad_as_its_worst_part(outcomes: list[Outcome]) -> None:
    assert worst(outcomes) is min(outcomes, key=ORDER.index, default=Outcome.INCONCLUSIVE)


def test_failures_and_doubts_count_beside_the_variants() -> None:
    def outcome(**others: tuple[str, ...]) -> Outcome:
        variants = (VariantCheck("on, 1 thread", Outcome.PASS, ""),)
        return RegressionCheck("new", "old", "model.pte", 0.05, 1e-3, variants, **others).outcome  # type: ignore[arg-type]

    assert outcome() is Outcome.PASS
    assert outcome(doubts=("unsure",)) is Outcome.INCONCLUSIVE
    assert outcome(doubts=("unsure",), failures=("broken",)) is Outcome.FAIL
