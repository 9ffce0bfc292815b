"""Executing a contract: steps in order, checks afterwards, and nothing that was not seen counts as a pass."""

import time
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import UsageError
from etprof.skills.checks import Outcome, Status
from etprof.skills.document import read_skill
from etprof.skills.verification import judge, verify
from skill_builder import a_contract, a_document


def verify_document(folder: Path, text: str, *, run_steps: bool = True, **given: str) -> list[Outcome]:
    path = folder / "greet.md"
    path.write_text(text)
    workdir = folder / "work"
    workdir.mkdir(exist_ok=True)
    return verify(read_skill(path), given, workdir, run_steps=run_steps, progress=lambda _: None)


def statuses(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.part, outcome.status.value) for outcome in outcomes]


def test_a_good_skill_passes_with_defaults_and_with_inputs_given(tmp_path: Path) -> None:
    outcomes = verify_document(tmp_path, a_document())
    assert statuses(outcomes) == [("step", "pass"), ("output", "pass"), ("check", "pass")]
    assert judge(outcomes) is Status.PASS
    assert judge(verify_document(tmp_path, a_document(), who='the $moon\'s `id`; "x"')) is Status.PASS
    assert (tmp_path / "work/greeting.txt").read_text() == 'hello the $moon\'s `id`; "x"\n'


def test_after_a_failed_step_everything_is_unknown_even_if_old_files_would_pass(tmp_path: Path) -> None:
    verify_document(tmp_path, a_document())
    steps = [{"title": "Break", "timeout_s": 20}, {"title": "Go on", "timeout_s": 20}]
    commands = {"Break": "echo before; false; echo after", "Go on": "touch went_on"}
    outcomes = verify_document(tmp_path, a_document(a_contract(steps=steps), commands=commands))
    found = [("step", "fail"), ("step", "unknown"), ("output", "unknown"), ("check", "unknown")]
    assert statuses(outcomes) == found
    assert outcomes[0].tail == ("before",)
    assert outcomes[2].detail == "the step 'Break' failed"
    assert judge(outcomes) is Status.FAIL
    assert not (tmp_path / "work/went_on").exists()


def test_a_missing_prerequisite_is_unknown_with_its_reason_and_nothing_is_run(tmp_path: Path) -> None:
    requires = [{"kind": "command", "command": "no-such-program", "reason": "there is no such program"}]
    outcomes = verify_document(tmp_path, a_document(a_contract(requires=requires)))
    assert {status for _, status in statuses(outcomes)} == {"unknown"}
    assert outcomes[0].detail == "there is no such program"
    assert outcomes[-1].detail == "a prerequisite is missing: there is no such program"
    assert judge(outcomes) is Status.UNKNOWN
    assert not (tmp_path / "work/greeting.txt").exists()


def test_a_step_that_cannot_tell_is_unknown_and_the_others_go_on(tmp_path: Path) -> None:
    steps = [{"title": "Write it", "timeout_s": 20, "unknown_exits": [3]}]
    command = {"Write it": 'echo "hello $who" > greeting.txt; exit 3'}
    outcomes = verify_document(tmp_path, a_document(a_contract(steps=steps), commands=command))
    assert statuses(outcomes) == [("step", "unknown"), ("output", "pass"), ("check", "pass")]
    assert judge(outcomes) is Status.UNKNOWN


def test_a_step_that_does_not_end_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    steps = [{"title": "Write it", "timeout_s": 0.3}]
    command = {"Write it": "(sleep 1; touch too_late) & sleep 60"}
    outcomes = verify_document(tmp_path, a_document(a_contract(steps=steps), commands=command))
    assert (outcomes[0].status, outcomes[0].detail) == (Status.FAIL, "timed out after 0.3 s")
    time.sleep(1.2)
    assert not (tmp_path / "work/too_late").exists()


def test_check_only_executes_nothing(tmp_path: Path) -> None:
    touch = {"kind": "command", "command": "touch executed"}
    checks = [touch, {"kind": "file", "path": "done.txt"}]
    document = a_document(a_contract(requires=[touch], checks=checks), commands={"Write it": "touch executed"})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "done.txt").write_text("x")
    before = sorted((tmp_path / "work").iterdir())
    outcomes = verify_document(tmp_path, document, run_steps=False)
    assert sorted((tmp_path / "work").iterdir()) == before
    assert [o.status for o in outcomes if o.part == "check"] == [Status.UNKNOWN, Status.PASS]
    assert not [o for o in outcomes if o.part in ("requires", "step")]


def test_check_only_runs_no_step(tmp_path: Path) -> None:
    outcomes = verify_document(tmp_path, a_document(), run_steps=False)
    assert statuses(outcomes) == [("output", "fail"), ("check", "fail")]
    verify_document(tmp_path, a_document())
    assert judge(verify_document(tmp_path, a_document(), run_steps=False)) is Status.PASS


@pytest.mark.parametrize(
    ("command", "unset"), [("python -c 'import etprof'", ""), ("etprof --version", ""), ('echo "$nobody"', "nobody")]
)
def test_commands_find_this_installation_and_unset_variables_are_errors(
    command: str, unset: str, tmp_path: Path
) -> None:
    changes: dict[str, Any] = {"checks": [{"kind": "command", "command": command}]}
    outcome = verify_document(tmp_path, a_document(a_contract(**changes)))[-1]
    assert outcome.status is (Status.FAIL if unset else Status.PASS)
    assert unset in "".join(outcome.tail)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "greet.md"
    path.write_text(a_document())
    with pytest.raises(UsageError, match="There is no folder"):
        verify(read_skill(path), {}, tmp_path / "absent", run_steps=True, progress=lambda _: None)
