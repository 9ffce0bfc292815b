"""`etprof kernels`, from the command line to the files it leaves."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from conftest import run_etprof
from csv_rows import read_rows
from etprof.cli.main import main
from etprof.runner.toolchain import compiler_path
from parts import need

MOPA = "kai_kernel_matmul_clamp_f32_f32p2vlx1_f32p2vlx1biasf32_sme2_mopa"
XNN = "xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot"


@pytest.fixture(scope="module")
def sampled(toy_cnn: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    need(sys.platform == "linux" and compiler_path(), "sampling needs Linux and a C++ compiler")
    folder = tmp_path_factory.mktemp("sampled") / "run"
    said = run_etprof(
        "kernels", "run", str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"), "--output-root", str(folder), "--seconds", "0.5",
        "--blocks", "1",
    )  # fmt: skip
    return folder, said


def test_a_model_is_sampled_shown_and_hidden(sampled: tuple[Path, str]) -> None:
    folder, said = sampled
    assert "executed: yes, in " in said
    assert "executed: no, in none of " in said
    results = json.loads((folder / "metrics.json").read_bytes())["results"]
    assert [(r["latency_ns"], bool(r["samples"])) for r in results] == [([], True)] * 2
    tables = sorted(folder.glob("*/*_kernels.csv"))
    assert len(tables) == 2
    rows = read_rows(tables[0])
    assert {row["level"] for row in rows} == {"executed"}
    assert sum(int(row["samples"]) for row in rows) > 100


def test_a_run_is_shown_again_without_running_it(sampled: tuple[Path, str], tmp_path: Path) -> None:
    said = run_etprof("kernels", "view", str(sampled[0]), "--out", str(tmp_path / "all.csv"), "--verbose")
    assert "executed: yes, in " in said
    assert (tmp_path / "all.csv").exists()


def test_a_sampled_run_is_valid_and_can_be_replayed(sampled: tuple[Path, str], tmp_path: Path) -> None:
    run_etprof("validate", "--results", str(sampled[0]))
    copy = tmp_path / "copy"
    run_etprof("run", "--device", f"recorded:{sampled[0]}", "--output-root", str(copy))
    assert "executed: yes, in " in run_etprof("kernels", "view", str(copy))


@pytest.mark.parametrize("width", [80, 100, 160])
def test_names_of_a_real_run_stand_whole_at_every_width(
    sampled: tuple[Path, str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["kernels", "view", str(sampled[0]), "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    rows = [row for table in sampled[0].glob("*/*_kernels.csv") for row in read_rows(table)]
    for name in {row["operator"] for row in rows} | {row["kernel"] for row in rows}:
        assert any(name in line for line in lines), name


def test_two_tables_are_put_side_by_side(sampled: tuple[Path, str], tmp_path: Path) -> None:
    on, off = (next(sampled[0].glob(f"*_{variant}/*_kernels.csv")) for variant in ("on", "off"))
    for target in (tmp_path / "view.md", tmp_path / "view.csv"):
        assert main(["kernels", "view", "--sme2-on", str(on), "--sme2-off", str(off), "--out", str(target)]) == 0
        assert "Convolution (NHWC, F32) IGEMM" in target.read_text(encoding="utf-8")
    rows = read_rows(tmp_path / "view.csv")
    assert any(row["changed"] == "yes" and "Convolution" in row["operator"] for row in rows)


def test_a_registration_log_is_labelled_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, table = tmp_path / "xnn.log", tmp_path / "on.csv"
    log.write_text(f"Using gemm microkernel '{XNN}'\n", encoding="utf-8")
    assert main(["kernels", "log", "--xnntrace", str(log), "--out", str(table)]) == 0
    (row,) = read_rows(table)
    assert (row["level"], row["data_type"], row["kernel"]) == ("registered, not executed", "qd8 f32 qc8w", XNN)
    assert row["instruction_class"] == "DotProd"
    assert "registered is not executed" in capsys.readouterr().err


def test_a_folder_without_samples_says_how_to_get_them(sampled: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(sampled[0], copy)
    metrics = json.loads((copy / "metrics.json").read_bytes())
    for result in metrics["results"]:
        result["samples"] = ""
    (copy / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    assert "holds no kernel samples" in run_etprof("kernels", "view", str(copy), expect=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("view",), "Give the folder of a run, or two tables and a file."),
        (("view", ".", "--on", "a.csv"), "Give the folder of a run, or two tables and a file."),
        (("view", "missing"), "There is no folder missing"),
        (("view", "--on", "a", "--off", "b", "--out", "x.txt"), "neither .md nor .csv"),
        (("run", "missing.pte"), "There is no model missing.pte"),
        (("run", "missing.pte", "--force", "--resume"), "mutually exclusive"),
        (("import", "missing.script"), "There is no recording missing.script"),
        (("import", "x", "--architecture", "arm65"), "There is no architecture called 'arm65'"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kernels", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_recording_of_perf_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "perf.script"
    recording.write_text(f" 4711 81234.5: 7f21c0de20 {MOPA} (/opt/lib/libxnn.so)\n", encoding="utf-8")
    assert main(["kernels", "import", str(recording), "--out", str(tmp_path / "table.csv")]) == 0
    said = capsys.readouterr()
    assert "SME2 executed: yes (100.0 % of all samples" in said.out
    assert said.out.count(MOPA) == 1
    assert "does not know ExecuTorch's operators" in said.err
    assert [row["kernel"] for row in read_rows(tmp_path / "table.csv")] == [MOPA]
