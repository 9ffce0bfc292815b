"""What an assistant is answered that asks about two models: the verdict, and only of files in the workspace."""

from pathlib import Path

import pytest

from etprof.app.plans import QUICK_SCHEDULE
from etprof.core.errors import UsageError
from etprof.mcp import answers
from etprof.mcp.check_answers import Checked, check
from model_files import a_model_file
from scripted_kind import add_scripted_kind


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")
    return add_scripted_kind(monkeypatch)


def ask(old: str, new: str, device: str) -> Checked:
    return check(
        answers.open_workspace(Path.cwd()), (old, new), lambda *_: None, device=device, schedule=QUICK_SCHEDULE,
        output_root="", threads=(1,), tolerance=0.05,
    )  # fmt: skip


def test_the_verdict_is_given_with_its_reasons_and_the_folder_of_the_run(device: str) -> None:
    for name in ("old", "new"):
        a_model_file(Path(name), "net")
    found = ask("old/net.pte", "new/net.pte", device)
    assert found.outcome == "pass"
    assert "| 1 thread | **pass** |" in found.summary
    assert (Path(found.run_dir) / "old/old.reference/output_0.bin").is_file()
    assert answers.analyze_run(answers.open_workspace(Path.cwd()), found.run_dir).verdicts[1].startswith("SNR against")


def test_models_outside_of_the_workspace_are_refused(device: str, tmp_path: Path) -> None:
    outside = a_model_file(tmp_path / "outside", "net")
    a_model_file(Path("new"), "net")
    with pytest.raises(UsageError):
        ask(str(outside), "new/net.pte", device)
