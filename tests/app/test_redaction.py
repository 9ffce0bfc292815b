"""A redacted report, in any format, does not tell who made it and where."""

from dataclasses import replace
from pathlib import Path

import pytest

import etprof
from etprof.app.reporting import FILE_FORMATS, FILE_SETS, analyze, redact, write_report
from etprof.cli.main import main
from etprof.core.findings import Finding, FindingKind
from etprof.reports import console
from etprof.store.session_file import load_session, save_session
from scripted_device import a_runnable_plan, run_scripted

SECRETS = (
    "alice", "buildhost", "R5CT30XYZ", "10.1.2.3", "/home/", "/opt/secret", "etprof run", "C:\\Users", "robertson",
)  # fmt: skip
NAMES = ("ssh:alice@buildhost.example.com:22", "android:R5CT30XYZ", "android:10.1.2.3:5555", "buildhost")
NOTES = (
    "The plan lies in /home/alice/plans/plan.json, and alice@buildhost started it.",
    "A library of C:\\Users\\robertson\\lib was found; robertson's.",
    "See file:///opt/secret/x/y.log, or /opt/secret/x: it is there.",
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("redaction")
    plan = a_runnable_plan(folder, blocks=3)
    run_scripted(plan)
    return plan.output_root


def mark(run: Path, name: str) -> None:
    """Puts secrets wherever a run holds text."""
    session = load_session(run)
    results = tuple(
        replace(result, retried=(f"{NOTES[0]}; median 2 ms",), runner="/home/alice/bin/runner")
        if index == 0 else result
        for index, result in enumerate(session.results)
    )  # fmt: skip
    device = replace(session.device, name=name, system="Linux buildhost 6")
    command = "etprof run /home/alice/plan.json --device ssh:alice@buildhost"
    save_session(run, replace(session, device=device, command=command, notes=NOTES, results=results))


def list_left(*texts: str) -> list[tuple[str, str]]:
    found = [(secret, text) for secret in SECRETS for text in texts if secret.lower() in text.lower()]
    return [(secret, text[max(0, text.lower().find(secret.lower()) - 80) :][:200]) for secret, text in found]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_it_is_left_in_any_format(measured: Path, tmp_path: Path, name: str) -> None:
    mark(measured, name)
    plain = analyze(measured)
    findings = tuple(Finding(FindingKind.NOTE, each, each) for each in NOTES)
    plain = replace(plain, report=replace(plain.report, findings=findings))
    assert list_left(console.render(plain.report, None)), "there is something to be left out"
    redacted = redact(plain)
    written = write_report(redacted, tmp_path / "out", FILE_FORMATS)
    written += write_report(redacted, None, FILE_SETS)
    texts = [path.read_text() for path in (*written, *(tmp_path / "out").rglob("*.svg"))]
    assert len(texts) > 10
    assert not list_left(console.render(redacted.report, None), *texts)


def test_the_run_itself_keeps_what_it_knows(measured: Path) -> None:
    mark(measured, NAMES[0])
    before = load_session(measured)
    assert main(["report", str(measured), "--redact", "--quiet"]) == 0
    after = load_session(measured)
    assert (after.device, after.command, after.notes) == (before.device, before.command, before.notes)
    assert not list_left((measured / "report.md").read_text(), (measured / "report.html").read_text())


def test_numbers_and_names_of_operators_stay(measured: Path) -> None:
    plain = analyze(measured)
    redacted = redact(plain)
    assert redacted.report.variants[0].operators == plain.report.variants[0].operators
    assert redacted.report.comparisons[0].speedup == plain.report.comparisons[0].speedup
    assert redacted.report.context["cpu"] == plain.report.context["cpu"]


def test_runs_on_one_page_are_numbered(measured: Path, tmp_path: Path) -> None:
    mark(measured, NAMES[0])
    other = tmp_path / "home" / "alice"
    other.parent.mkdir()
    other.symlink_to(measured)
    second = tmp_path / "second"
    run_scripted(replace(a_runnable_plan(tmp_path, blocks=3), output_root=second))
    page = tmp_path / "page.md"
    assert main(["report", str(measured), str(second), "--out", str(page), "--redact"]) == 0
    assert "run 1" in page.read_text()
    assert not list_left(page.read_text())


def test_python_redacts_too(measured: Path, tmp_path: Path) -> None:
    mark(measured, NAMES[0])
    (page,) = etprof.load_run(measured).redact().write_report(tmp_path / "report.md")
    assert not list_left(page.read_text())
