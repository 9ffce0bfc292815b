"""The statements of the users' documents as a page: each with the test that shows it, or the reason why not."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/documents/statements.csv"
PAGE = ROOT / "docs/reference/documents.md"
HOLDS = ("yes", "in part", "no")
_OPENING = """\
# The documents of the older kit, sentence by sentence

People come here with five documents about an older profiling kit: a page on onboarding and profiling, an overview, a
README, a skill and a plan. Each statement in them that can be checked is a row below, in our words: whether it holds
here, and the test that shows it or the reason why it does not. The rows are in `tests/documents/statements.csv`;
`make reference` writes this page, and a test checks that each test exists.

Where a document asks for something that would mislead (another model in place of a missing one, kernels from a log of
registrations), etprof does something else, and the row says why.
"""


@dataclass(frozen=True)
class Statement:
    """`tests` are node ids without parameters; `holds` is one of HOLDS."""

    document: str
    section: str
    text: str
    holds: str
    tests: tuple[str, ...]
    reason: str


def read_statements() -> list[Statement]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [
            Statement(
                row["document"],
                row["section"],
                row["statement"],
                row["holds"],
                tuple(row["tests"].split()),
                row["reason"],
            )
            for row in csv.DictReader(file)
        ]


def render_statements(statements: list[Statement]) -> str:
    documents = dict.fromkeys(each.document for each in statements)
    lines = [_OPENING, *_render_counts(statements)]
    for document in documents:
        lines += [
            "",
            f"## {document}",
            "",
            "| Section | Statement | Holds | Test or reason |",
            "| --- | --- | --- | --- |",
        ]
        lines += [_render_row(each) for each in statements if each.document == document]
    return "\n".join([*lines, ""])


def _render_counts(statements: list[Statement]) -> Iterator[str]:
    yield "| Document | Statements | Hold | Hold in part | Do not hold |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for document in dict.fromkeys(each.document for each in statements):
        yield _count_row(f"[{document}](#{_anchor(document)})", [s for s in statements if s.document == document])
    yield _count_row("Together", statements)


def _count_row(name: str, statements: list[Statement]) -> str:
    counts = Counter(each.holds for each in statements)
    return f"| {name} | {len(statements)} | {' | '.join(str(counts[each]) for each in HOLDS)} |"


def _render_row(each: Statement) -> str:
    proofs = [f"`{test.removeprefix('tests/').replace('::', '` `')}`" for test in each.tests]
    proof = " ".join(filter(None, (each.reason, "; ".join(proofs))))
    return f"| {_cell(each.section)} | {_cell(each.text)} | {each.holds} | {_cell(proof)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
