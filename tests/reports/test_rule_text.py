"""Rules of advice in words: one, a list, and the page."""

from etprof.core.advice import RuleText
from etprof.reports import rule_text

RULE = RuleText(
    id="less-work",
    title="Too much work",
    looks_at="all operators",
    bound="their time",
    advice="Do less.",
    snippet="# Before\nwork()\n\n# After\npass",
)
FOR_ARM = RuleText(
    id="threads",
    title="Threads",
    looks_at="threads",
    bound="time",
    advice="Use one.",
    snippet="use_threads(1);",
    needs_run=True,
    about_sme=True,
)


def test_a_rule_is_told_in_full_with_its_code() -> None:
    assert rule_text.render(RULE) == (
        "less-work: Too much work\n"
        "Looks at: all operators.\n"
        "Saves at most: their time.\n"
        "What to do: Do less.\n"
        "Applied to: a model or a run.\n\n"
        "  # Before\n  work()\n\n  # After\n  pass\n"
    )


def test_a_list_has_a_line_for_each_rule() -> None:
    assert rule_text.render_list([RULE, FOR_ARM]) == "less-work  Too much work\nthreads    Threads\n"


def test_the_page_has_a_row_and_a_section_for_each_rule() -> None:
    page = rule_text.render_page([RULE, FOR_ARM])
    assert "| [`less-work`](#less-work) | Too much work | a model or a run |" in page
    assert "| [`threads`](#threads) | Threads | a run, CPUs with SME |" in page
    assert "\n## less-work\n\nToo much work.\n\n- Looks at: all operators.\n" in page
    assert "```python\n# Before\n" in page
    assert "```cpp\nuse_threads(1);\n```" in page
