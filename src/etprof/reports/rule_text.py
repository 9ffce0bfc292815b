"""Rules of advice in words: one in full, a list of them, and the page of the documentation about all."""

from collections.abc import Iterator, Sequence

from etprof.core.advice import RuleText

_NEEDS_RUN = "a run"
_WORKS_ALONE = "a model or a run"
_ABOUT_SME = "CPUs with SME"


def render(rule: RuleText) -> str:
    """One rule in full."""
    snippet = "\n".join(f"  {line}".rstrip() for line in rule.snippet.splitlines())
    lines = [f"{rule.id}: {rule.title}", *(f"{name}: {text}" for name, text in _describe(rule)), "", snippet]
    return "\n".join(lines) + "\n"


def render_list(rules: Sequence[RuleText]) -> str:
    width = max((len(rule.id) for rule in rules), default=0)
    return "".join(f"{rule.id:<{width}}  {rule.title}\n" for rule in rules)


def render_page(rules: Sequence[RuleText]) -> str:
    """Every rule as Markdown, with a heading of its own."""
    lines = ["| Rule | About | Applied to |", "| --- | --- | --- |"]
    lines += [f"| [`{rule.id}`](#{rule.id}) | {rule.title} | {_applied_to(rule)} |" for rule in rules]
    for rule in rules:
        lines += ["", f"## {rule.id}", "", f"{rule.title}.", ""]
        lines += [f"- {name}: {text}" for name, text in _describe(rule)]
        lines += ["", f"```{_language(rule)}", rule.snippet, "```"]
    return "\n".join(lines) + "\n"


def _describe(rule: RuleText) -> Iterator[tuple[str, str]]:
    yield "Looks at", f"{rule.looks_at}."
    yield "Saves at most", f"{rule.bound}."
    yield "What to do", rule.advice
    yield "Applied to", f"{_applied_to(rule)}."


def _applied_to(rule: RuleText) -> str:
    known_from = _NEEDS_RUN if rule.needs_run else _WORKS_ALONE
    return f"{known_from}, {_ABOUT_SME}" if rule.about_sme else known_from


def _language(rule: RuleText) -> str:
    """Shell and C++ beside Python, told by their first line."""
    first = rule.snippet.partition("\n")[0]
    return "cpp" if first.startswith("//") or first.endswith(";") else "python"
