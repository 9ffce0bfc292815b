"""Findings of one kind with one advice are read together."""

from etprof.core.findings import Finding, FindingKind, group_findings


def test_findings_of_one_kind_and_advice_are_a_group_with_each_message_once() -> None:
    spread, drift = FindingKind.SPREAD, FindingKind.DRIFT
    findings = [
        Finding(spread, "off: 6 %.", "Close programs."),
        Finding(drift, "off: rose.", "Cool it."),
        Finding(spread, "on: 7 %.", "Close programs."),
        Finding(spread, "on: 7 %.", "Close programs."),
        Finding(drift, "on: fell.", "Wait."),
    ]
    assert [(group.kind, group.messages, group.advice) for group in group_findings(findings)] == [
        (spread, ("off: 6 %.", "on: 7 %."), "Close programs."),
        (drift, ("off: rose.",), "Cool it."),
        (drift, ("on: fell.",), "Wait."),
    ]
    assert group_findings(()) == ()
