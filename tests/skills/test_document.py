"""A skill's document and its contract must agree, so that what is read is what is run."""

from pathlib import Path

import pytest

from etprof.core.errors import SkillError
from etprof.skills.document import SECTIONS, Step, read_skill, split_sections
from skill_builder import a_contract, a_document


def written(folder: Path, text: str) -> Path:
    path = folder / "greet.md"
    path.write_text(text)
    return path


def test_steps_are_the_shell_blocks_of_the_commands(tmp_path: Path) -> None:
    skill = read_skill(written(tmp_path, a_document()))
    assert (skill.name, skill.description) == ("greet", "Greets. Use when asked to greet.")
    assert skill.steps == (Step("Write it", 'echo "hello $who" > greeting.txt\n', 20.0),)
    assert skill.body.lstrip().startswith("# greet")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_missing_section_is_named(section: str, tmp_path: Path) -> None:
    text = a_document().replace(f"## {section}\n", f"## Not {section}\n")
    with pytest.raises(SkillError, match=f"has no section '{section}'"):
        read_skill(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# greet\n", "has no front matter"),
        (a_document(description=""), "the front matter has name, description"),
        (a_document(inputs="who=moon"), "sets who to 'moon', the contract to 'world'"),
        (a_document(inputs="whom=world"), "the document sets whom, the contract has the inputs who"),
        (a_document(commands={"Say it": "true"}), "commands are 'Say it', the contract's steps are 'Write it'"),
        (a_document().replace("```json contract", "```json"), "has 0 blocks marked `json contract`"),
        (a_document(commands={"Write it": "true\n```\n\n```bash\nfalse"}), "has 2 blocks marked `bash`"),
    ],
)
def test_a_document_that_contradicts_its_contract_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SkillError) as raised:
        read_skill(written(tmp_path, text))
    assert message in raised.value.message


def test_a_default_by_host_is_met_by_any_of_its_values(tmp_path: Path) -> None:
    contract = a_contract(inputs={"who": {"about": "", "default": {"mac": "apple", "linux": "world"}}})
    assert read_skill(written(tmp_path, a_document(contract))).contract.id == "skill.greet"


def test_a_heading_inside_a_block_is_no_heading() -> None:
    assert split_sections("## One\n```\n## Two\n```\nend\n## Three\n", "## ") == {
        "One": "```\n## Two\n```\nend\n",
        "Three": "",
    }
