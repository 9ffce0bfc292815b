"""Inputs: given on the command line, or a default that may depend on the host and on inputs before it."""

import json
from typing import Any

import pytest

from etprof.core.errors import SkillError, UnknownNameError, UsageError
from etprof.skills.contract import Contract, parse_contract
from etprof.skills.inputs import expand, parse_given, resolve_inputs
from skill_builder import a_contract


def contract_with(**defaults: Any) -> Contract:
    inputs = {name: {"about": "", "default": default} for name, default in defaults.items()}
    return parse_contract(json.dumps(a_contract(inputs=inputs)), "greet.md")


def test_a_default_uses_inputs_before_it_and_what_is_given_wins() -> None:
    contract = contract_with(model="toy", out="out_$model", run="${out}/runs")
    assert resolve_inputs(contract, {}, "linux-arm64") == {"model": "toy", "out": "out_toy", "run": "out_toy/runs"}
    assert resolve_inputs(contract, {"model": "big"}, "linux-arm64")["run"] == "out_big/runs"
    # What a user gives is taken as it stands.
    assert resolve_inputs(contract, {"out": "$model"}, "linux-arm64")["out"] == "$model"


def test_the_most_exact_host_decides() -> None:
    contract = contract_with(template={"mac": "m", "linux": "l", "linux-x86_64": "x"})
    hosts = ("mac-arm64", "linux-arm64", "linux-x86_64")
    assert [resolve_inputs(contract, {}, host)["template"] for host in hosts] == ["m", "l", "x"]
    with pytest.raises(UsageError, match="template has no default on windows-arm64"):
        resolve_inputs(contract, {}, "windows-arm64")


def test_an_unknown_input_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="no input called 'modle'") as raised:
        resolve_inputs(contract_with(model="toy"), {"modle": "x"}, "linux-arm64")
    assert "'model'" in raised.value.hint


def test_values_are_split_at_the_first_equals_sign() -> None:
    assert parse_given(("a=b=c", "empty=")) == {"a": "b=c", "empty": ""}
    with pytest.raises(UsageError, match="'model' sets no input"):
        parse_given(("model",))


@pytest.mark.parametrize(("text", "message"), [("$nobody", "uses \\$nobody"), ("50 $", "has a stray \\$")])
def test_a_name_that_is_no_input_is_refused(text: str, message: str) -> None:
    with pytest.raises(SkillError, match=message):
        expand(text, {"who": "world"}, "check")
