"""The table of kernels that ships with the package: it loads, and its rules fit the names that traces have."""

import pytest

from etprof.core.extensions import EXTENSIONS
from etprof.store.coverage_file import load_coverage

# tests/analysis/kernels/test_arm_encodings.py looks into the library.
ABSENT = ("BF16", "SVE")


def test_every_extension_of_arm_has_a_table() -> None:
    classes = {each for extension in EXTENSIONS["arm64"] for each in extension.classes}
    assert classes == {known for known, version in load_coverage() if version == "1.5.1"}


def test_tables_are_found_by_instruction_class_and_version() -> None:
    coverage = load_coverage()
    classes = {each for known in EXTENSIONS.values() for extension in known for each in extension.classes}
    assert coverage
    assert {extension for extension, _ in coverage} <= classes
    assert ("SME", "1.5.1") in coverage


@pytest.mark.parametrize("key", sorted(load_coverage()))
def test_every_rule_says_why_in_words_that_end_a_sentence(key: tuple[str, str]) -> None:
    rules = load_coverage()[key]
    assert rules
    assert all(rule.why and not rule.why.endswith(".") for rule in rules)
    assert {rule.covered for rule in rules} == ({False} if key[0] in ABSENT else {True, False})


@pytest.mark.parametrize(
    ("operator", "covered"),
    [("Fully Connected (NC, PF32) GEMM #1", True), ("Convolution (NHWC, F32) DWConv #1", False)],
)
def test_the_first_rule_that_matches_holds(operator: str, covered: bool) -> None:
    rules = load_coverage()["SME", "1.5.1"]
    assert next(rule for rule in rules if rule.pattern.search(operator)).covered is covered
