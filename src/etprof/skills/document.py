"""A skill's document: Markdown for readers, whose front matter, shell blocks and contract a program can use."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from etprof.core.errors import SkillError
from etprof.skills.contract import Contract, parse_contract

SECTIONS = (
    "Prerequisites", "Inputs", "Commands", "Expected outputs", "Verification", "When it fails", "Contract",
    "Next skill",
)  # fmt: skip
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```[ \t]*$", re.M | re.S)
_FRONT_MATTER = re.compile(r"\A---\n(?P<fields>.*?)\n---\n(?P<body>.*)\Z", re.S)
_NUMBER = re.compile(r"^\d+\. ")


@dataclass(frozen=True)
class Step:
    title: str
    script: str
    timeout_s: float
    unknown_exits: tuple[int, ...] = ()


@dataclass(frozen=True)
class Skill:
    """`body` is the text without its front matter."""

    path: Path
    name: str
    description: str
    body: str
    contract: Contract
    steps: tuple[Step, ...]


def read_skill(path: Path) -> Skill:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SkillError(f"{path} cannot be read: {error}.") from error
    fields, body = _split_front_matter(text, path)
    sections = split_sections(body, "## ")
    for name in SECTIONS:
        if name not in sections:
            raise SkillError(f"{path} has no section {name!r}.", hint=f"Sections: {', '.join(SECTIONS)}.")
    contract = parse_contract(_only_block(sections["Contract"], "json contract", path), str(path))
    _check_inputs(contract, sections["Inputs"], path)
    steps = _read_steps(contract, sections["Commands"], path)
    return Skill(path, fields["name"], fields["description"], body, contract, steps)


def split_sections(text: str, mark: str) -> dict[str, str]:
    """The text below each heading of one level. What looks like a heading inside a fenced block is none."""
    sections: dict[str, str] = {}
    title, in_fence = "", False
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            in_fence = not in_fence
        if not in_fence and line.startswith(mark):
            title = line.removeprefix(mark).strip()
            sections[title] = ""
        elif title:
            sections[title] += line
    return sections


def _split_front_matter(text: str, path: Path) -> tuple[dict[str, str], str]:
    found = _FRONT_MATTER.match(text)
    if not found:
        raise SkillError(f"{path} has no front matter.", hint="It begins with ---, name:, description: and ---.")
    pairs = (line.partition(":") for line in found["fields"].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    if set(fields) != {"name", "description"} or not all(fields.values()):
        raise SkillError(f"{path}: the front matter has {', '.join(fields)}.", hint="It has name and description.")
    return fields, found["body"]


def _only_block(section: str, info: str, path: Path) -> str:
    blocks = [found["text"] for found in _FENCE.finditer(section) if found["info"].strip() == info]
    if len(blocks) != 1:
        raise SkillError(f"{path} has {len(blocks)} blocks marked `{info}` where one belongs.")
    return blocks[0]


def _check_inputs(contract: Contract, section: str, path: Path) -> None:
    """The document sets each variable to the contract's default, so that a reader's shell and ours agree."""
    told: dict[str, str] = {}
    for line in _only_block(section, "bash", path).splitlines() if contract.inputs else ():
        for word in shlex.split(line, comments=True):
            name, _, value = word.partition("=")
            told[name] = value
    if list(told) != list(contract.inputs):
        raise SkillError(
            f"{path}: the document sets {', '.join(told) or 'nothing'}, "
            f"the contract has the inputs {', '.join(contract.inputs) or 'none'}."
        )
    for name, entry in contract.inputs.items():
        defaults = [entry.default] if isinstance(entry.default, str) else list(entry.default.values())
        if told[name] not in defaults:
            raise SkillError(f"{path}: the document sets {name} to {told[name]!r}, the contract to {defaults[0]!r}.")


def _read_steps(contract: Contract, section: str, path: Path) -> tuple[Step, ...]:
    told = {_NUMBER.sub("", title): text for title, text in split_sections(section, "### ").items()}
    promised = [step.title for step in contract.steps]
    if list(told) != promised:
        raise SkillError(
            f"{path}: the document's commands are {', '.join(map(repr, told))}, "
            f"the contract's steps are {', '.join(map(repr, promised))}."
        )
    return tuple(
        Step(step.title, _only_block(told[step.title], "bash", path), step.timeout_s, tuple(step.unknown_exits))
        for step in contract.steps
    )
