"""Finding skills by any of their names, and the shape of the real ones."""

from pathlib import Path

import pytest

from conftest import ROOT
from etprof.core.errors import SkillError, UnknownNameError, UsageError
from etprof.skills.catalogue import DEFAULT_SKILLS_DIR, find_skill, find_skills_dir, list_skills, read_final_report
from skill_builder import a_contract, a_document, write_skills

SKILLS = ROOT / DEFAULT_SKILLS_DIR
EIGHT = [
    "01_setup_workspace", "02_build_runners", "03_export_model", "04_run_profiling", "05_analyze_results",
    "06_validate_workflow", "07_report_generation", "08_onboard_edgetam",
]  # fmt: skip


def test_the_eight_skills_and_the_use_cases_are_there_in_order() -> None:
    assert [s.path.stem for s in list_skills(SKILLS)] == [*EIGHT, "minimal_smoke_test", "regression_check"]


def test_the_contracts_of_the_documents_are_found_in_the_catalogue() -> None:
    text = (SKILLS / "readme.md").read_text()
    for skill in list_skills(SKILLS):
        assert f"`{skill.contract.id}`" in text
        assert f"({skill.path.relative_to(SKILLS)})" in text
    for name in ("env_setup", "export_model", "build_runners", "run_pipeline", "summarize_results"):
        assert find_skill(f"skill.{name}", SKILLS).contract.id == f"skill.{name}"


def test_the_final_report_has_its_six_parts() -> None:
    report = read_final_report(SKILLS)
    for part in ("Verdict", "Key numbers", "Actions", "Ruled out", "Next step", "Confidence"):
        assert f"**{part}**" in report


def test_a_description_says_when_to_use_the_skill() -> None:
    for skill in list_skills(SKILLS):
        assert " Use " in skill.description, skill.path


def test_a_skill_is_found_by_its_name_its_file_and_its_contract(tmp_path: Path) -> None:
    folder = write_skills(tmp_path / "skills", **{"01_greet": a_document()})
    for name in ("greet", "01_greet", "01_greet.md", "skill.greet"):
        assert find_skill(name, folder).path == folder / "01_greet.md"
    with pytest.raises(UnknownNameError, match="no skill called 'greets'") as raised:
        find_skill("greets", folder)
    assert "'greet'" in raised.value.hint


def test_a_next_skill_that_is_not_there_is_refused(tmp_path: Path) -> None:
    folder = write_skills(tmp_path / "skills", greet=a_document(a_contract(next="part")))
    with pytest.raises(SkillError, match="the next skill 'part' is not there"):
        list_skills(folder)


def test_without_skills_the_hint_says_where_to_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="There is no agent_skill_ml_profiling") as raised:
        find_skills_dir(None)
    assert "--skills-dir" in raised.value.hint
    folder = write_skills(tmp_path / "agent_skill_ml_profiling")
    assert find_skills_dir(None).resolve() == folder
