"""Commands that look write nothing; `report` writes the files it names."""

import re
from pathlib import Path

import pytest

from etprof.cli.main import main
from hostile_folders import snapshot


@pytest.mark.parametrize(
    "line",
    [
        ("validate", "RUN"),
        ("validate", "--deep", "RUN"),
        ("compare", "RUN", "OTHER"),
        ("check", "RUN", "--against", "OTHER"),
        ("explain", "RUN"),
        ("kernels", "view", "RUN"),
        ("report", "RUN", "--format", "console,latency"),
        ("report", "RUN", "--by", "kind"),
        ("trace", "operators", "RUN/on/on_t1.etdump"),
        ("trace", "categories", "RUN/on/on_t1.etdump"),
        ("run", "--dry-run", "PLAN"),
    ],
    ids=" ".join,
)
def test_a_command_that_looks_writes_nothing(
    line: tuple[str, ...], run_dir: Path, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    plan = tmp_path / "plan.json"
    plan.write_text('{"model": "a.pte", "output_root": "out", "experiments": [{"name": "on"}]}')
    before = snapshot(tmp_path, measured)
    names = {"RUN": run_dir, "OTHER": measured / "runs" / "linux", "PLAN": plan}
    words = [re.sub("^(RUN|OTHER|PLAN)", lambda found: str(names[found[1]]), word) for word in line]
    assert main(words) in (0, 1, 2, 3)
    assert snapshot(tmp_path, measured) == before


def test_report_writes_the_files_it_names_and_notes_them(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(run_dir)
    assert main(["report", str(run_dir), "--format", "html,json"]) == 0
    named = {line for line in capsys.readouterr().out.splitlines() if line.startswith(str(run_dir))}
    after = snapshot(run_dir)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == named | {str(run_dir / "manifest.json")}
    assert named == {str(run_dir / "report.html"), str(run_dir / "analysis_summary.json")}


def test_report_elsewhere_leaves_the_run_untouched(run_dir: Path, tmp_path: Path) -> None:
    before = snapshot(run_dir)
    assert main(["report", str(run_dir), "--out", str(tmp_path / "page.html")]) == 0
    assert snapshot(run_dir) == before
