"""Documents are tests: links lead somewhere, the site builds, and pages say what the code does."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import Browser, start_browser
from documented_commands import ROOT, documents
from etprof.app.advice import list_rules
from etprof.core import errors
from etprof.store.plan_file import json_schema
from parts import need
from reference_pages import ADVICE_PAGE, CLI_PAGE, render_advice, render_cli

MARKDOWN = [path for path in documents() if path.suffix == ".md"]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
REFERENCE = ROOT / "docs/reference"
SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.cpp")]


def table_rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]


@pytest.mark.parametrize("document", MARKDOWN, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


def test_a_plan_key_that_is_documented_exists_and_the_other_way_round() -> None:
    text = (REFERENCE / "config.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(?:experiments\[\]|schedule|analysis)\.(\w+)`", text))
    documented |= set(re.findall(r"^\| `(\w+)` \|", text, re.M)) | set(re.findall(r" or `(\w+)` \|", text))
    schema = json_schema()
    known = set(schema["properties"]) - {"$schema", "$comment", "experiments", "schedule", "analysis"}
    for part in ("ExperimentPart", "SchedulePart", "AnalysisPart"):
        known |= set(schema["$defs"][part]["properties"])
    assert documented == known


def test_the_page_of_the_command_line_is_what_the_code_gives() -> None:
    assert CLI_PAGE.read_text(encoding="utf-8") == render_cli(), "run `make reference`"


def test_the_page_of_advice_is_what_the_rules_say() -> None:
    assert ADVICE_PAGE.read_text(encoding="utf-8") == render_advice(), "run `make reference`"


def test_every_rule_of_advice_was_measured_or_says_why_not() -> None:
    measured, others = (REFERENCE / "advice-measured.md").read_text(encoding="utf-8").split("## Not measured")
    named = [re.findall(r"^\| \[`([a-z0-9-]+)`\]", part, re.M) for part in (measured, others)]
    assert not set(named[0]) & set(named[1])
    assert {*named[0], *named[1]} == {rule.id for rule in list_rules()}
    assert {rule.id for rule in list_rules() if rule.about_sme} <= set(named[1])


def test_the_page_of_errors_has_every_kind_with_its_exit_code() -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8").split("## Kinds of errors")[1].split("\n## ")[0]
    told = {row[0].strip("`"): int(row[1]) for row in table_rows(text) if row[0].startswith("`")}
    kinds = {kind.__name__: kind.exit_code for kind in vars(errors).values() if is_error(kind)}
    assert told == kinds


def is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.EtprofError)


@pytest.mark.parametrize("page", ["reference/errors.md", "guides/android.md", "guides/arm-linux.md"])
def test_the_messages_of_a_page_are_the_ones_the_program_has(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    messages = [row[0] for table in text.split("| Message |")[1:] for row in table_rows(table.split("\n\n")[0])[1:]]
    assert len(messages) >= 4
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    # A sentence may be written on several lines of the source.
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    for message in messages:
        for part in message.split("…"):
            assert part.strip(" .") in code, f"{message}: nothing in the code says {part!r}"


def test_the_workflow_on_the_page_is_the_one_to_copy() -> None:
    page = (ROOT / "docs/guides/use-in-ci.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    assert shown == (ROOT / "docs/guides/profile-check.yml").read_text(encoding="utf-8")


def build_site(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    need(find_spec("mkdocs"), "mkdocs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(source / "mkdocs.yml"), "-d", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build_site(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    yield from start_browser(tmp_path / "profile")


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}


@pytest.mark.parametrize("link", ["(no-such-page.md)", "(guides/first-profile.md#no-such-heading)"])
def test_a_broken_link_or_anchor_breaks_the_site(link: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs/index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[broken]{link}\n")
    done = build_site(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "no-such" in done.stderr


@pytest.mark.exhaustive
def test_no_page_is_wider_than_a_phone_or_a_desktop(site: Path, browser: Browser) -> None:
    """What is wide, code and tables, scrolls within the page."""
    pages = [page for page in site.rglob("*.html") if "sample" not in page.relative_to(site).parts]
    assert len(pages) > 20
    for page in pages:
        for width in (390, 1280):
            browser.open(page, width)
            assert browser.ask("document.documentElement.scrollWidth") <= width, f"{page.name} at {width} px"


def test_every_picture_of_a_page_is_described_and_there(site: Path) -> None:
    shown = [
        (page, *found)
        for page in (ROOT / "docs").rglob("*.md")
        if "sample" not in page.parts
        for found in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert {page.stem for page, _, _ in shown} >= {"first-profile", "read-a-report", "kernel-evidence"}
    for page, description, target in shown:
        assert len(description) > 20, f"{page.name}: {target} needs a description"
        assert (site / page.relative_to(ROOT / "docs").parent / target).resolve().is_file()


def test_nothing_is_fetched_from_elsewhere_when_the_site_is_opened(site: Path, browser: Browser) -> None:
    browser.requested_addresses()
    browser.open(site / "index.html")
    browser.wait_for("document.readyState === 'complete'")
    asked = browser.requested_addresses()
    assert any(address.endswith(".css") for address in asked)
    assert [address for address in asked if address.startswith(("http:", "https:", "ws:"))] == []


def test_every_sentence_on_security_names_a_test_that_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = text.partition("## Run folders")[2].partition("## Not yet")[0]
    sentences = re.findall(r"^- .*?(?=^- |^\n|\Z)", promises, re.M | re.S)
    assert len(sentences) > 15
    for sentence in sentences:
        file, test = re.findall(r"`(tests/\S+)::(\w+)`", sentence)[0]
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), sentence
