"""Every statement of the users' documents stands in the table with a test that exists, or with a reason."""

import re
from collections.abc import Iterator
from functools import cache

from documented_commands import ROOT
from statement_page import HOLDS, PAGE, Statement, read_statements, render_statements

STATEMENTS = read_statements()


@cache
def known_tests(file: str) -> frozenset[str]:
    path = ROOT / file
    return (
        frozenset(re.findall(r"^ *def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M))
        if path.exists()
        else frozenset()
    )


def test_every_statement_of_the_five_documents_has_a_row() -> None:
    assert len({each.document for each in STATEMENTS}) == 5
    assert len(STATEMENTS) >= 238
    assert len({(each.document, each.section, each.text) for each in STATEMENTS}) == len(STATEMENTS)


def test_every_row_names_tests_that_exist_or_a_reason() -> None:
    assert [wrong for each in STATEMENTS for wrong in find_mistakes(each)] == []


def find_mistakes(each: Statement) -> Iterator[str]:
    where = f"{each.document}: {each.text}"
    if each.holds not in HOLDS:
        yield f"{where} {each.holds!r}"
    for test in each.tests:
        file, _, name = test.partition("::")
        if name not in known_tests(file):
            yield f"{where} There is no {test}"
    if each.holds == "yes" and not each.tests:
        yield f"{where} What holds is shown by a test"
    if each.holds != "yes" and not each.reason:
        yield f"{where} What does not hold has a reason"


def test_the_page_is_what_the_table_gives() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_statements(STATEMENTS), "run `make reference`"
