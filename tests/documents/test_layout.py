"""The page of the repository's layout is true of the repository."""

import re
from pathlib import Path

from documented_commands import ROOT

PAGE = (ROOT / "docs/reference/layout.md").read_text(encoding="utf-8")
# Weights and programs, which are fetched or made.
LARGE = (".pte", ".pt", ".pth", ".safetensors")


def first_cells(text: str) -> list[str]:
    return [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]


def test_every_place_of_the_page_exists() -> None:
    places = re.findall(r"`([^`]+)`", " ".join(first_cells(PAGE.partition("## What the commands create")[0])))
    assert len(places) > 12
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert not (ROOT / "model_profiling/pipeline").exists(), "the page says that the package takes its place"


def test_every_folder_of_the_repository_is_on_the_page() -> None:
    ignored = {".git", ".ci", *(line.strip("/") for line in read_ignored())}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("out_")} - ignored
    assert {name for name in folders if f"`{name}/" not in PAGE} == set()


def test_what_is_fetched_or_made_is_not_committed() -> None:
    table = PAGE.partition("| Do not commit | Instead |")[2]
    named = re.findall(r"`([^`]+)`", " ".join(line.split(" | ")[0] for line in table.splitlines()))
    assert set(named) >= {"out_*/", ".venv/", "executorch/", "*.pte", "*.safetensors"}
    ignored = {line.lstrip("/") for line in read_ignored()}
    assert [name for name in named if name not in ignored and name != "*.etdump"] == []
    kept = [path for folder in ("src", "docs", "tests/data", "model_profiling/models") for path in walk(ROOT / folder)]
    assert [path for path in kept if path.suffix in LARGE] == []


def read_ignored() -> list[str]:
    return (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def walk(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not any(part.startswith("out_") for part in path.parts)]
