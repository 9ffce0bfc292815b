"""`etprof profile` in the words of its options."""

import json
import shutil
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.app.named_model import find_export
from etprof.cli.main import main
from etprof.core.errors import UsageError
from etprof.devices.local import local_platform
from etprof.store.plan_file import load_plan
from etprof.store.session_file import load_session
from etprof.store.workload_file import load_workload
from mounts import mounted
from scripted_kind import add_scripted_kind

Capture = pytest.CaptureFixture[str]
SHORT = ["--runs", "2", "--blocks", "1", "--max-blocks", "1", "--device", "scripted"]


@pytest.fixture
def out_toy_cnn(toy_cnn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where `etprof export toy_cnn` writes, with what it wrote, below the current one."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(toy_cnn, tmp_path / "out_toy_cnn" / "artifacts")
    add_scripted_kind(monkeypatch)
    return Path("out_toy_cnn")


def test_what_is_asked_for_on_the_command_line_is_what_is_run(toy_cnn: Path, tmp_path: Path) -> None:
    model = toy_cnn / "toy_cnn_xnnpack_fp32.pte"
    options = ["--runs", "4", "--threads", "2", "--blocks", "1", "--max-blocks", "1", "--kernels"]
    run_etprof("profile", str(model), "--output-root", str(tmp_path / "run"), *options)
    session = load_session(tmp_path / "run")
    timed = [r for r in session.results if not r.experiment.endswith("_kernels")]
    sampled = [r for r in session.results if r.experiment.endswith("_kernels")]
    assert len(timed) == len(sampled) == 2
    assert all(len(r.latency_ns) == 4 and len(r.traced_ns) == 2 and r.threads_in_force == 2 for r in timed)
    assert all(r.latency_ns == () and r.samples for r in sampled)


def test_the_default_folder_carries_the_precision_and_is_told(out_toy_cnn: Path, capsys: Capture) -> None:
    folder = out_toy_cnn / "runs" / f"{local_platform()}_fp32"
    assert main(["profile", str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte"), *SHORT]) == 0
    assert f"results go to {folder}\n" in capsys.readouterr().err
    assert load_session(folder).programs[0].export_meta
    assert main(["profile", str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte"), *SHORT]) == 0
    assert len(list((folder / "earlier").iterdir())) == 1, "the first run is kept"


def test_a_dry_run_shows_the_plan_of_this_machine_and_runs_nothing(out_toy_cnn: Path, capsys: Capture) -> None:
    model = str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte")
    for command, folder in (("profile", "fp32"), ("kernels run", "fp32_kernels")):
        assert main([*command.split(), model, "--dry-run", "--blocks", "2", "--device", "scripted"]) == 0
        said = capsys.readouterr().out
        assert f"results to out_toy_cnn/runs/{local_platform()}_{folder}\n" in said
        assert "round 2: " in said
    assert not (out_toy_cnn / "runs").exists()


def test_several_thread_counts_are_one_schedule(out_toy_cnn: Path, capsys: Capture) -> None:
    model = str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte")
    assert main(["profile", model, "--dry-run", "--threads", "1,2", "--device", "scripted"]) == 0
    first = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("round 1: "))
    assert all(f"_{side}_t{count}" in first for side in ("off", "on") for count in (1, 2))
    assert main(["profile", model, "--dry-run", "--threads", "auto", "--device", "scripted"]) == 0
    assert "_on_t1" in capsys.readouterr().out
    for wrong in ("0", "two", "1,,2"):
        assert main(["profile", model, "--threads", wrong, "--device", "scripted"]) == 2
        said = capsys.readouterr().err
        assert f"threads is '{wrong}'" in said
        assert "1,2,4, or auto" in said


def test_the_plan_is_written_to_be_edited_and_run(out_toy_cnn: Path, capsys: Capture) -> None:
    model = str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte")
    assert main(["profile", model, "--dry-run", "--kernels", "--threads", "2", "--device", "scripted"]) == 0
    wanted = capsys.readouterr().out
    assert (
        main(["profile", model, "--write-plan", "plan.json", "--kernels", "--threads", "2", "--device", "scripted"])
        == 0
    )
    assert "run it with: etprof run plan.json" in capsys.readouterr().out
    assert load_plan(Path("plan.json")).schedule.time_budget_s == 120
    assert main(["run", "plan.json", "--dry-run"]) == 0
    assert capsys.readouterr().out == wanted


def test_a_method_and_a_workload_are_part_of_the_plan(out_toy_cnn: Path, capsys: Capture) -> None:
    model = str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte")
    Path("frames.json").write_text(json.dumps({"phases": [{"name": "frames", "inputs": [{"value": 1}], "repeats": 9}]}))
    options = ["--workload", "frames.json", "--method", "forward", "--write-plan", "plan.json", "--device", "scripted"]
    assert main(["profile", model, *options]) == 0
    plan = load_plan(Path("plan.json"))
    assert (plan.method, plan.workload) == ("forward", load_workload(Path("frames.json")))
    capsys.readouterr()
    Path("frames.json").write_text(json.dumps({"phases": [{"name": "frames", "repeats": 0}]}))
    assert main(["profile", model, "--workload", "frames.json", "--device", "scripted"]) == 2
    assert "frames.json: phases[0].repeats (frames) is 0" in capsys.readouterr().err


def test_a_models_name_uses_its_export_where_nothing_has_changed(out_toy_cnn: Path, capsys: Capture) -> None:
    assert main(["profile", "toy_cnn", "--dry-run", "--device", "scripted"]) == 0
    assert "toy_cnn would be exported to out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte" in capsys.readouterr().out
    assert main(["profile", "toy_cnn", "--dtype", "fp16", "--dry-run", "--device", "scripted"]) == 0
    assert f"results to out_toy_cnn/runs/{local_platform()}_fp16\n" in capsys.readouterr().out
    assert main(["profile", "toy_cnn", *SHORT]) == 0
    said = capsys.readouterr().err
    assert "exporting toy_cnn (fp32) to out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte\n" in said
    assert "was there and nothing has changed since, so it is used as it is\n" in said


def test_a_models_name_never_uses_a_stale_file(out_toy_cnn: Path, capsys: Capture) -> None:
    pte = out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte"
    good = pte.read_bytes()
    pte.write_bytes(b"stale")
    assert main(["profile", "toy_cnn", *SHORT]) == 0
    assert "used as it is" not in capsys.readouterr().err
    assert pte.read_bytes() == good


@pytest.mark.parametrize("text", ["m.pte", "folder/m", "./m", ".", "..", ""])
def test_a_path_is_not_a_name(text: str) -> None:
    assert find_export(text) is None
    with pytest.raises(UsageError, match="--dtype is for the name of a model"):
        find_export(text, dtype="fp16")


def test_a_file_without_a_suffix_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy_cnn").touch()
    assert find_export("toy_cnn") is None


def test_a_misspelt_file_or_name_is_answered_with_the_nearest(out_toy_cnn: Path, capsys: Capture) -> None:
    assert main(["profile", str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp23.pte")]) == 2
    assert "Did you mean 'toy_cnn_xnnpack_fp32.pte'?" in capsys.readouterr().err
    assert main(["profile", "toy_cn"]) == 2
    assert "Did you mean 'toy_cnn'?" in capsys.readouterr().err


def test_that_there_is_no_device_is_known_before_an_export(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["profile", "toy_cnn", "--device", "android"]) == 1
    assert "adb is not installed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["profile"], ["kernels", "run"], ["profile", "--resume"]])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("file", "file is a file."),
        ("file/inside", "file is a file."),
        ("x" * 300, "File name too long."),
        ("readonly/new", "Read-only file system."),
        ("readonly", "Read-only file system."),
    ],
    ids=["file", "below a file", "long", "read-only", "read-only folder"],
)
def test_an_output_root_that_cannot_be_is_said_before_anything_runs(
    command: list[str], place: str, said: str, out_toy_cnn: Path, capsys: Capture
) -> None:
    model = str(out_toy_cnn / "artifacts" / "toy_cnn_xnnpack_fp32.pte")
    Path("file").write_text("a text", encoding="utf-8")
    Path("readonly").mkdir()
    with mounted(Path("readonly"), "ro"):
        assert main([*command, model, "--device", "scripted", "--output-root", place]) in (1, 2)
    error = capsys.readouterr().err
    assert "error: " in error
    if "--resume" not in command:
        assert said in error
    assert "block 1" not in error
    assert Path("file").read_text(encoding="utf-8") == "a text"


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("artifacts", "is a folder, not a model.", "artifacts/toy_cnn_xnnpack_fp32.pte"),
        ("plan.json", "is not a model, which is a .pte.", "etprof run out_toy_cnn/plan.json"),
    ],
)
def test_what_is_not_a_model_is_told_what_it_is(
    name: str, said: str, hint: str, out_toy_cnn: Path, capsys: Capture
) -> None:
    (out_toy_cnn / "plan.json").write_text("{}", encoding="utf-8")
    assert main(["profile", str(out_toy_cnn / name)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert hint in error
