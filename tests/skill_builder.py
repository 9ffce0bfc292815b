"""Builds small skills for tests: the text of a document with the contract asked for, and a catalogue around it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CATALOGUE = "# Skills\n\n## The final report\n\nVerdict, key numbers, confidence.\n\n## Other\n\nNothing.\n"


def a_contract(**changes: Any) -> dict[str, Any]:
    contract = {
        "schema_version": 1,
        "id": "skill.greet",
        "inputs": {"who": {"about": "whom to greet", "default": "world"}},
        "requires": [],
        "steps": [{"title": "Write it", "timeout_s": 20}],
        "outputs": ["greeting.txt"],
        "checks": [{"kind": "text", "path": "greeting.txt", "says": ["hello $who"]}],
        "next": None,
    }
    return {**contract, **changes}


def a_document(
    contract: Mapping[str, Any] | None = None,
    *,
    name: str = "greet",
    description: str = "Greets. Use when asked to greet.",
    inputs: str = "who=world                # whom to greet",
    commands: Mapping[str, str] | None = None,
) -> str:
    steps = commands or {"Write it": 'echo "hello $who" > greeting.txt'}
    blocks = "".join(f"### {i}. {t}\n\n```bash\n{s}\n```\n\n" for i, (t, s) in enumerate(steps.items(), 1))
    return (
        f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n"
        "## Prerequisites\n\nNone.\n\n"
        f"## Inputs\n\n```bash\n{inputs}\n```\n\n"
        f"## Commands\n\n{blocks}"
        "## Expected outputs\n\nA file.\n\n## Verification\n\n```bash\n## no heading\ncat greeting.txt\n```\n\n"
        "## When it fails\n\n| It says | Do |\n| --- | --- |\n\n"
        f"## Contract\n\n```json contract\n{json.dumps(contract or a_contract(), indent=2)}\n```\n\n"
        "## Next skill\n\nNone.\n"
    )


def write_skills(folder: Path, **documents: str) -> Path:
    """A folder with a catalogue and these documents; returns the folder."""
    folder.mkdir(parents=True)
    (folder / "readme.md").write_text(CATALOGUE)
    for stem, text in documents.items():
        (folder / f"{stem}.md").write_text(text)
    return folder
