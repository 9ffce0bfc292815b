"""The summary of a regression check: whole with every kind of gap, and harmless with hostile names."""

import re
from dataclasses import replace

import pytest

from etprof.core.estimates import Interval
from etprof.core.findings import Finding, FindingKind
from etprof.core.regression import MemoryCheck, Outcome, RegressionCheck, VariantCheck
from etprof.core.report import CategoryChange
from etprof.reports.check_summary import render
from report_builder import HOSTILE

VARIANT = VariantCheck(
    label="on, 1 thread",
    outcome=Outcome.FAIL,
    reason="the whole interval lies beyond the tolerance",
    slowdown=Interval(0.2, 0.18, 0.22),
    noise_floor=0.01,
    medians_ms=(2.0, 2.4),
    load_ms=(0.7, 0.8),
    peak_bytes=(1 << 20, 2 << 20),
    output_difference=1e-5,
    categories=(CategoryChange("GEMM", 1.0, 1.4, 0.5, 0.6),),
)
CHECK = RegressionCheck(
    "new", "old", "m.pte", 0.05, 1e-3, (VARIANT,), findings=(Finding(FindingKind.DRIFT, "It drifts.", "Cool it."),)
)


def test_a_reader_sees_verdict_numbers_and_what_was_not_judged() -> None:
    text = render(CHECK)
    assert text.startswith("## m.pte: fail\n")
    assert "tolerance 5.0 %; outputs may differ by 0.001 of the largest value." in text
    assert "| on, 1 thread | **fail** | 20.0 % (18.0 % to 22.0 %) | 2.00 ms | 2.40 ms | 1e-05 |" in text
    assert "| on, 1 thread | 0.700 ms | 0.800 ms | 1.0 MiB | 2.0 MiB |" in text
    assert "| GEMM | 1.00 ms | 1.40 ms | +0.400 ms |" in text
    assert "1 finding to read" in text


def test_every_table_stands_by_itself_with_rows_as_wide_as_its_head() -> None:
    text = render(replace(CHECK, variants=(VARIANT, replace(VARIANT, label="off, 1 thread"))))
    tables = [block.splitlines() for block in re.split(r"\n\n+", text) if block.startswith("|")]
    assert len(tables) == 4
    for head, rule, *rows in tables:
        assert re.fullmatch(r"\|( -+:? \|)+", rule)
        assert {row.count("|") for row in (head, rule, *rows)} == {head.count("|")}


@pytest.mark.parametrize("outcome", Outcome)
def test_gaps_are_named_and_nothing_is_invented(outcome: Outcome) -> None:
    bare = replace(CHECK, variants=(VariantCheck("on, 1 thread", outcome, "emulated"),), findings=())
    text = render(bare)
    assert f"| on, 1 thread | **{outcome.value}** | unknown | unknown | unknown | not compared | emulated |" in text
    assert "None" not in text


def test_failures_and_doubts_stand_first() -> None:
    text = render(replace(CHECK, variants=(), failures=("a variant is gone",), doubts=("it was interrupted",)))
    assert "- **fail**: a variant is gone\n- **inconclusive**: it was interrupted" in text


def test_hostile_names_stay_text() -> None:
    finding = Finding(FindingKind.NOTE, HOSTILE, HOSTILE)
    variant = replace(
        VARIANT, label=HOSTILE, reason=HOSTILE, categories=(replace(VARIANT.categories[0], name=HOSTILE),)
    )
    hostile = RegressionCheck(HOSTILE, HOSTILE, HOSTILE, 0.05, 1e-3, (variant,), (HOSTILE,), (HOSTILE,), (finding,))
    text = render(hostile)
    assert "<script>" not in text
    assert "](b)" not in text.replace("\\]", "")


def test_memory_has_a_table_where_it_was_judged() -> None:
    growth = MemoryCheck(Outcome.FAIL, "the whole interval lies beyond the tolerance", Interval(1.0, 0.98, 1.02))
    text = render(replace(CHECK, variants=(replace(VARIANT, memory=growth),), memory_tolerance=0.03))
    assert "; peak memory may grow by 3.0 %." in text
    assert "| on, 1 thread | **fail** | 100.0 % (98.0 % to 102.0 %) | 1.0 MiB | 2.0 MiB |" in text
    assert "Growth of the peak" not in render(CHECK)
