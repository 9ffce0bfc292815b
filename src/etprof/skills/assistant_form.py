"""The form in which coding assistants load a skill: a folder of its own with a SKILL.md, written from our document."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from etprof.core.errors import SkillError
from etprof.skills.catalogue import CATALOGUE, FINAL_REPORT
from etprof.skills.document import Skill
from etprof.store.json_file import write_text

# The rules of the Agent Skills format: small letters, digits and hyphens; the folder has the skill's name.
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024
_FILE = "SKILL.md"
_LINK = re.compile(r"\[(?P<label>[^\]]+)\]\((?!https?:|#)(?P<target>[^)#]+)(?P<anchor>#[^)]*)?\)")


def install(skills: Sequence[Skill], final_report: str, folder: Path, *, force: bool) -> list[Path]:
    """Writes every skill below `folder`; a file that somebody changed stays as it is, unless `force` is given."""
    texts = {folder / assistant_name(s) / _FILE: render(s, skills, final_report) for s in skills}
    for path, text in texts.items():
        if not force and path.exists() and path.read_text(encoding="utf-8") != text:
            raise SkillError(f"{path} already exists with other content.", hint="--force overwrites it.")
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def render(skill: Skill, skills: Sequence[Skill], final_report: str) -> str:
    """The document with the assistants' front matter, its links turned, and the final report's contract at its end."""
    if len(skill.description) > _LONGEST_DESCRIPTION or re.search("[<>]", skill.description):
        raise SkillError(
            f"{skill.path}: assistants refuse its description.", hint="At most 1024 characters, none of them < or >."
        )
    body = _LINK.sub(lambda found: _turn_link(found, skill, skills), skill.body).strip()
    return (
        f"---\nname: {assistant_name(skill)}\ndescription: {json.dumps(skill.description, ensure_ascii=False)}\n---\n\n"
        f"<!-- Written by `etprof skills install` from {_source(skill)}: edit that file, not this one. -->\n\n"
        f"{body}\n\n## {FINAL_REPORT}\n\n{final_report}\n"
    )


def assistant_name(skill: Skill) -> str:
    name = skill.name.replace("_", "-")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise SkillError(f"{skill.path}: assistants refuse the name {name!r}.", hint="Small letters, digits, _ only.")
    return name


def _turn_link(found: "re.Match[str]", skill: Skill, skills: Sequence[Skill]) -> str:
    """A link to another skill leads to its folder; one to another file names that file's place in the repository."""
    target = (skill.path.parent / found["target"]).resolve()
    for other in skills:
        if other.path.resolve() == target:
            return f"[{found['label']}](../{assistant_name(other)}/{_FILE})"
    root = _root(skill)
    place = target.relative_to(root) if target.is_relative_to(root) else Path(found["target"])
    return f"{found['label']} (`{place.as_posix()}`)"


def _source(skill: Skill) -> str:
    return skill.path.resolve().relative_to(_root(skill)).as_posix()


def _root(skill: Skill) -> Path:
    """The repository: the folder that holds the folder with the catalogue."""
    folder = skill.path.resolve().parent
    return folder.parent if (folder / CATALOGUE).is_file() else folder.parent.parent
