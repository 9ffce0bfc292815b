"""Where the skills are, and which one a name means."""

from pathlib import Path

from etprof.core.errors import SkillError, UnknownNameError, UsageError
from etprof.skills.document import Skill, read_skill, split_sections

DEFAULT_SKILLS_DIR = Path("agent_skill_ml_profiling")
USE_CASES = "use_cases"
CATALOGUE = "readme.md"
FINAL_REPORT = "The final report"


def find_skills_dir(given: Path | None) -> Path:
    """The folder a user named, or the default one below the current directory."""
    folder = given or DEFAULT_SKILLS_DIR
    if not (folder / CATALOGUE).is_file():
        raise UsageError(
            f"There is no {folder / CATALOGUE}.", hint="Run this from the root of a clone, or give --skills-dir."
        )
    return folder


def list_skills(folder: Path) -> list[Skill]:
    """Every skill in the order of its file name, then the use-cases."""
    paths = [*sorted(folder.glob("*.md")), *sorted((folder / USE_CASES).glob("*.md"))]
    skills = [read_skill(path) for path in paths if path.name != CATALOGUE]
    for skill in skills:
        if skill.contract.next is not None and skill.contract.next not in [other.path.stem for other in skills]:
            raise SkillError(f"{skill.path}: the next skill {skill.contract.next!r} is not there.")
    return skills


def find_skill(name: str, folder: Path) -> Skill:
    """By the name of its front matter, of its file, or of its contract."""
    skills = list_skills(folder)
    for skill in skills:
        if name in (skill.name, skill.path.stem, skill.path.name, skill.contract.id):
            return skill
    raise UnknownNameError("skill", name, [s.name for s in skills], hint="List them with: etprof skills list")


def read_final_report(folder: Path) -> str:
    """What an assistant's last message has to hold, as the catalogue says it."""
    text = (folder / CATALOGUE).read_text(encoding="utf-8")
    section = split_sections(text, "## ").get(FINAL_REPORT)
    if section is None:
        raise SkillError(f"{folder / CATALOGUE} has no section {FINAL_REPORT!r}.")
    return section.strip()
