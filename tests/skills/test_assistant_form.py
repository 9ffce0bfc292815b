"""The form that assistants load: one folder and one SKILL.md for each skill, from the same text."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import ROOT
from etprof.core.errors import SkillError
from etprof.skills.assistant_form import install, render
from etprof.skills.catalogue import DEFAULT_SKILLS_DIR, list_skills, read_final_report
from etprof.skills.document import read_skill
from parts import need
from skill_builder import a_document, write_skills


def test_the_form_is_exactly_this(tmp_path: Path) -> None:
    text = a_document(name="say_hello", description='Greets: "hello". Use it.')
    body = text.partition("\n---\n\n")[2].strip()
    linked = text.replace(
        "None.\n\n## Inputs", "[Part](02_part.md), [docs](../docs/a.md#b), [x](https://x.y)\n\n## Inputs"
    )
    folder = write_skills(tmp_path / "skills", **{"01_hello": linked, "02_part": a_document(name="part")})
    skills = list_skills(folder)
    turned = "[Part](../part/SKILL.md), docs (`docs/a.md`), [x](https://x.y)"
    assert render(skills[0], skills, "Verdict.") == (
        '---\nname: say-hello\ndescription: "Greets: \\"hello\\". Use it."\n---\n\n'
        "<!-- Written by `etprof skills install` from skills/01_hello.md: edit that file, not this one. -->\n\n"
        + body.replace("None.\n\n## Inputs", f"{turned}\n\n## Inputs")
        + "\n\n## The final report\n\nVerdict.\n"
    )


def test_the_real_skills_keep_to_the_rules_of_the_format(tmp_path: Path) -> None:
    need(find_spec("yaml"), "PyYAML, which reads front matter as assistants do, is not installed")
    load = import_module("yaml").safe_load
    folder = ROOT / DEFAULT_SKILLS_DIR
    paths = install(list_skills(folder), read_final_report(folder), tmp_path, force=False)
    assert len(paths) == 10
    for path in paths:
        text = path.read_text()
        fields = load(text.split("---\n")[1])
        assert set(fields) == {"name", "description"}
        assert fields["name"] == path.parent.name
        assert len(fields["description"]) <= 1024
        assert len(text.splitlines()) < 500
        assert "**Confidence**" in text
        for target in [part.partition(")")[0] for part in text.split("](")[1:]]:
            assert target.startswith("https://") or (path.parent / target).exists(), (path, target)


def test_a_changed_file_stays_unless_forced_and_then_nothing_is_half_written(tmp_path: Path) -> None:
    folder = write_skills(tmp_path / "skills", a=a_document(name="a"), b=a_document(name="b"))
    skills = list_skills(folder)
    target = tmp_path / "installed"
    install(skills, "Verdict.", target, force=False)
    install(skills, "Verdict.", target, force=False)
    (target / "b" / "SKILL.md").write_text("mine")
    (target / "a" / "SKILL.md").unlink()
    with pytest.raises(SkillError, match=r"b/SKILL\.md already exists with other content") as raised:
        install(skills, "Verdict.", target, force=False)
    assert "--force" in raised.value.hint
    assert not (target / "a" / "SKILL.md").exists()
    install(skills, "Verdict.", target, force=True)
    assert (target / "b" / "SKILL.md").read_text() != "mine"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Greet me"}, "refuse the name 'Greet me'"),
        ({"name": "x" * 65}, "refuse the name"),
        ({"description": "x" * 1025}, "refuse its description"),
        ({"description": "for <you>"}, "refuse its description"),
    ],
)
def test_what_assistants_would_refuse_is_refused_here(changes: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "greet.md"
    path.write_text(a_document(**changes))  # type: ignore[arg-type]
    skill = read_skill(path)
    with pytest.raises(SkillError, match=message):
        render(skill, [skill], "Verdict.")
