"""`etprof models` as a user types it."""

from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import main
from etprof.export import dependencies
from program_builder import Method, Number, Tensor, build_program

Capture = pytest.CaptureFixture[str]


def rows_of(said: str) -> dict[str, str]:
    return {line.split()[0]: line for line in said.splitlines() if line}


def test_the_list_tells_origin_and_status() -> None:
    said = run_etprof("models", "list")
    rows = rows_of(said)
    assert "model_profiling/models/vit_tiny" in rows["vit_tiny"]
    assert rows["toy_cnn"].split() == ["toy_cnn", "etprof", "ready"]
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
    rows = rows_of(run_etprof("models", "list", "--models-dir", str(tmp_path)))
    assert rows["needy"].endswith("run: pip install no-such-package")
    assert "No module named 'no_such_module'" in rows["broken"]


def test_a_narrow_terminal_keeps_names_and_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["models", "list"]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows["model"].split() == ["model", "status"]
    assert rows["mobilenet_v1_025"].split() == ["mobilenet_v1_025", "ready"]
    assert main(["models", "list", "--wide"]) == 0
    assert rows_of(capsys.readouterr().out)["model"].split() == ["model", "from", "needs", "status"]


def test_one_model_is_shown_with_where_it_comes_from_and_what_it_needs(capsys: Capture) -> None:
    assert main(["models", "show", "toy_cnn"]) == 0
    facts = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert facts["model"] == "toy_cnn"
    assert facts["needs"] == "nothing besides torch and executorch"
    assert facts["status"] == "ready"
    assert main(["models", "show", "toy_cn"]) == 2
    assert "Did you mean 'toy_cnn'" in capsys.readouterr().err


def test_without_torch_and_executorch_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    assert main(["models", "list"]) == 0
    assert f"Run: {dependencies.install_command(dependencies.RUNTIME)}" in capsys.readouterr().out


def test_a_new_model_is_written_and_listed(tmp_path: Path) -> None:
    said = run_etprof("models", "new", "my_net", "--models-dir", str(tmp_path))
    assert f"etprof export my_net --models-dir {tmp_path}" in said
    assert "my_net" in rows_of(run_etprof("models", "list", "--models-dir", str(tmp_path)))
    assert "exists already" in run_etprof("models", "new", "my_net", "--models-dir", str(tmp_path), expect=2)


def test_a_program_shows_its_methods_and_what_they_take_give_and_remember(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "model.pte"
    remembers = Method("encode", (Tensor((1,), name="count"), Tensor((5,)), Tensor((2,))), inputs=(1,), outputs=(2,))
    path.write_bytes(build_program(remembers, Method("decode")))
    assert main(["models", "show", str(path)]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["method", "encode"], ["inputs", "uint8 [5]"], ["outputs", "uint8 [2]"], ["state", "count, uint8 [1]"],
        ["method", "decode"], ["inputs", "uint8 [5]"], ["outputs", "uint8 [2]"], ["state", "none"],
    ]  # fmt: skip


def test_a_program_shows_what_its_methods_have_in_common_and_what_it_says_of_itself(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "model.pte"
    cache = Tensor((4,), name="cache", place=(2, 0))
    both = [
        Method(name, (cache, Tensor((5,), place=(1, 0)), Tensor((2,), place=(1, 16))), inputs=(1,), outputs=(2,))
        for name in ("prefill", "decode")
    ]
    path.write_bytes(build_program(*both, Method("get_max_seq_len", (Number(128),), (), (0,))))
    assert main(["models", "show", str(path)]) == 0
    *methods, common, fact = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in methods if line.startswith("method")] == ["prefill", "decode"]
    assert common == "The methods have their state in common."
    assert fact.split() == ["get_max_seq_len", "128"]
