"""`etprof models` and `etprof models new` as a user types them."""

from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import main
from etprof.export import dependencies


def test_the_list_tells_origin_and_status(tmp_path: Path) -> None:
    said = run_etprof("models")
    rows = {line.split()[0]: line for line in said.splitlines()}
    assert "model_profiling/models/toy_cnn" in rows["toy_cnn"]
    assert rows["toy_cnn"].endswith("ready")
    assert "executorch wheel" in rows["mv2"]
    assert "Models folder: model_profiling/models" in said
    assert "llama" not in rows
    assert "llama" in said


def test_what_is_missing_comes_with_its_command(tmp_path: Path) -> None:
    for name, text in {
        "needy": "class Model: pass\nregister_model('needy', Model, requires=['no-such-package'])",
        "broken": "import no_such_module",
    }.items():
        (tmp_path / name).mkdir()
        start = "from etprof.export.registry import register_model\n"
        (tmp_path / name / "model.py").write_text(start + text)
    rows = {line.split()[0]: line for line in run_etprof("models", "--models-dir", str(tmp_path)).splitlines()}
    assert rows["needy"].endswith("run: pip install no-such-package")
    assert "No module named 'no_such_module'" in rows["broken"]


def test_without_torch_and_executorch_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pinned = dependencies.pinned_versions()
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    assert main(["models"]) == 0
    wanted = " ".join(f"{name}=={pinned[name]}" for name in dependencies.RUNTIME)
    assert f"Run: pip install {wanted}" in capsys.readouterr().out


def test_a_new_model_is_written_and_listed(tmp_path: Path) -> None:
    said = run_etprof("models", "new", "my_net", "--models-dir", str(tmp_path))
    assert "etprof export my_net" in said
    assert "my_net" in run_etprof("models", "--models-dir", str(tmp_path))
    assert "exists already" in run_etprof("models", "new", "my_net", "--models-dir", str(tmp_path), expect=2)
