"""A user's rules: read in order, refused with a sentence."""

import json
from pathlib import Path

import pytest

from etprof.core.categories import RULES, categorize
from etprof.core.errors import UsageError
from etprof.store.rules_file import load_rules

RULE = {"pattern": "^Add", "category": "GEMM", "subcategory": "mine"}


def test_no_file_means_the_built_in_rules() -> None:
    assert load_rules(None) == RULES


def test_a_rule_of_the_file_wins_over_a_built_in_one(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": [RULE]}))
    assert categorize("Add (ND) #1", load_rules(path)).subcategory == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "no list called rules"),
        ('{"rules": [{"pattern": "x"}]}', "Rule 1 .* needs the texts"),
        (json.dumps({"rules": [{**RULE, "patern": "x"}]}), "unknown key 'patern'"),
        (json.dumps({"rules": [RULE, {**RULE, "pattern": "("}]}), "Rule 2 .* no valid pattern"),
        (json.dumps({"rules": [{**RULE, "category": "Delegate overhead"}]}), "time that no operator owns"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        load_rules(path)
    assert caught.value.hint


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no rules file"):
        load_rules(tmp_path / "absent.json")
