"""Contracts are read strictly, and what is wrong is named by its key."""

import json
from typing import Any

import pytest

from etprof.core.errors import SkillError
from etprof.skills.contract import parse_contract
from skill_builder import a_contract


def test_a_contract_keeps_what_it_says() -> None:
    contract = parse_contract(json.dumps(a_contract()), "greet.md")
    assert contract.id == "skill.greet"
    assert contract.inputs["who"].default == "world"
    assert [check.label for check in contract.checks] == ["greeting.txt says 'hello $who'"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stpes": []}, "has no key 'stpes'"),
        ({"steps": []}, "steps: List should have at least 1 item"),
        ({"outputs": []}, "outputs: List should have at least 1 item"),
        ({"checks": []}, "checks: List should have at least 1 item"),
        ({"schema_version": 2}, "schema_version: Input should be 1"),
        ({"id": "greet"}, "id: String should match pattern"),
        ({"steps": [{"title": "Write it", "timeout_s": 0}]}, "steps.0.timeout_s: Input should be greater than 0"),
        ({"steps": [{"title": "Write it"}]}, "key 'steps.0.timeout_s' is missing"),
        ({"inputs": {"Who": {"about": "", "default": ""}}}, "the input 'Who' is not a lower-case shell variable name"),
        ({"inputs": {"who": {"about": ""}}}, "key 'inputs.who.default' is missing"),
        ({"checks": [{"kind": "file", "path": "a", "size": 3}]}, "has no key 'checks.0.file.size'"),
        ({"checks": [{"kind": "files", "path": "a"}]}, "checks.0: Input tag 'files'"),
        ({"checks": [{"kind": "command", "command": "true", "timeout_s": "1"}]}, "checks.0.command.timeout_s: "),
    ],
)
def test_a_wrong_contract_is_refused_by_its_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SkillError) as raised:
        parse_contract(json.dumps(a_contract(**changes)), "greet.md")
    assert raised.value.message.startswith("greet.md: the contract")
    assert message in raised.value.message


def test_a_contract_that_is_no_json_says_where() -> None:
    with pytest.raises(SkillError, match=r"greet\.md: the contract is not valid JSON: .* line 2"):
        parse_contract('{\n"id": }', "greet.md")


def test_a_missing_key_is_named() -> None:
    contract = a_contract()
    del contract["next"]
    with pytest.raises(SkillError, match="key 'next' is missing"):
        parse_contract(json.dumps(contract), "greet.md")
