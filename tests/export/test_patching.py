"""What is replaced for a while is put back, whatever happens in between."""

import os

import pytest

from etprof.export.patching import environment_variable, replaced


class Library:
    limit = 3

    def answer(self) -> str:
        return "theirs"


class Extension(Library):
    pass


def ours(self: Library) -> str:
    return "ours"


def test_a_method_is_replaced_inside_and_theirs_again_afterwards() -> None:
    theirs = vars(Library)["answer"]
    with replaced(Library, "answer", ours):
        assert Library().answer() == "ours"
    assert vars(Library)["answer"] is theirs


def test_an_error_inside_leaves_nothing_replaced() -> None:
    with pytest.raises(ZeroDivisionError), replaced(Library, "limit", 9):
        raise ZeroDivisionError
    assert Library.limit == 3


def test_replacements_are_undone_in_turn() -> None:
    with replaced(Library, "limit", 4):
        with replaced(Library, "limit", 5):
            assert Library.limit == 5
        assert Library.limit == 4
    assert Library.limit == 3


@pytest.mark.parametrize("owner", [Library, Extension])
def test_what_the_owner_does_not_have_itself_is_an_error(owner: type[Library]) -> None:
    name = "answers" if owner is Library else "answer"
    with pytest.raises(AttributeError, match=f"no attribute '{name}' of its own"), replaced(owner, name, ours):
        pytest.fail("the block must not run")


def test_what_is_added_is_gone_afterwards_and_what_was_inherited_is_back() -> None:
    with replaced(Extension, "answer", ours, added=True):
        assert Extension().answer() == "ours"
        assert Library().answer() == "theirs"
    assert Extension().answer() == "theirs"
    assert "answer" not in vars(Extension)


@pytest.mark.parametrize("before", [None, "", "old"])
def test_an_environment_variable_is_what_it_was(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    if before is None:
        monkeypatch.delenv("ETPROF_TRIAL", raising=False)
    else:
        monkeypatch.setenv("ETPROF_TRIAL", before)
    with environment_variable("ETPROF_TRIAL", "new"):
        assert os.environ["ETPROF_TRIAL"] == "new"
    assert os.environ.get("ETPROF_TRIAL") == before
