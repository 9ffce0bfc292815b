"""`etprof llm` in the words of its options: with the runner of the tests, and once with the real one."""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import etprof
from conftest import run_etprof
from etprof.cli.main import main
from etprof.core.workload import Workload
from etprof.export.request import Quantization
from etprof.store.session_file import load_session, save_session
from etprof.traces.program import read_program
from program_builder import FLOAT32, Method, Number, Tensor, build_program
from scripted_kind import add_scripted_kind
from shared_exports import SharedExports

GROUPED = Quantization("linear-dynamic", weight_bits=4, group_size=32)
Capture = pytest.CaptureFixture[str]
INT64 = 4
VALUES = (
    Tensor((1, 16), INT64, is_dynamic=True),
    Tensor((16,), INT64, is_dynamic=True),
    Tensor((2, 64, 8), FLOAT32, name="keys"),
    Tensor((1, 100), FLOAT32),
)
DECODER = Method(values=VALUES, inputs=(0, 1), outputs=(3,))
CONTEXT = Method("get_max_seq_len", (Number(64),), (), (0,))
SHORT = ("--blocks", "3", "--max-blocks", "3", "--runs", "2", "--device", "scripted")
LOG = 'PyTorchObserver {"prompt_tokens":8,"generated_tokens":4,"inference_start_ms":1,"prompt_eval_end_ms":5}\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    add_scripted_kind(monkeypatch)
    Path("decoder.pte").write_bytes(build_program(DECODER, CONTEXT))


def workload_of(folder: str) -> Workload:
    workload = load_session(Path(folder)).plan.workload
    assert workload is not None
    return workload


def test_a_dry_run_shows_the_tests_and_runs_nothing(capsys: Capture) -> None:
    asked = ("--prompt", "8,32", "--generate", "4", "--depth", "0,20", "--dry-run", "--device", "scripted")
    assert main(["llm", "decoder.pte", *asked]) == 0
    said = capsys.readouterr().out
    assert "pp32: forward, 2 steps of 16 tokens" in said
    assert "fill before tg4@d20: forward, 1 steps of 16 tokens" in said
    assert "compare: " in said
    assert list(Path().iterdir()) == [Path("decoder.pte")]


def test_tests_are_run_reported_and_read_back(capsys: Capture) -> None:
    asked = ("--prompt", "8", "--generate", "4", "--output-root", "run", *SHORT)
    assert main(["llm", "decoder.pte", *asked]) == 0
    said = capsys.readouterr().out
    assert "pipeline ok" in said
    assert "pp8" in said
    assert "decoder.pte: file " in said
    assert [phase.name for phase in workload_of("run").phases] == ["pp8", "tg4"]
    written = json.loads(Path("run/llm.json").read_text(encoding="utf-8"))
    assert [each["test"] for each in written["tests"]] == ["pp8", "pp8", "tg4", "tg4"]
    assert all(each["tokens_per_s"] > 0 and each["blocks"] == 3 for each in written["tests"])
    rows = list(csv.DictReader(Path("run/llm.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0]["test"] == "pp8"
    assert "| tg4 |" in Path("run/llm.md").read_text(encoding="utf-8")
    table = etprof.load_run("run").llm_tests()
    assert [row["test"] for row in table] == ["pp8", "pp8", "tg4", "tg4"]
    assert main(["validate", "run"]) == 0


def test_a_report_writes_the_results_again_and_an_older_run_takes_them_along(capsys: Capture) -> None:
    assert main(["llm", "decoder.pte", "--prompt", "8", "--generate", "0", "--output-root", "run", *SHORT]) == 0
    Path("run/llm.md").unlink()
    assert main(["report", "run"]) == 0
    assert Path("run/llm.md").is_file()
    capsys.readouterr()
    asked = ("--prompt", "16", "--generate", "0", "--output-root", "run", *SHORT)
    assert main(["llm", "decoder.pte", *asked, "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :])["tests"][0]["test"] == "pp16"
    (earlier,) = Path("run/earlier").iterdir()
    assert "pp8" in (earlier / "llm.md").read_text(encoding="utf-8")
    assert "pp16" in Path("run/llm.md").read_text(encoding="utf-8")


def test_an_interrupted_run_goes_on(capsys: Capture) -> None:
    asked = ["llm", "decoder.pte", "--prompt", "8", "--generate", "0", "--output-root", "run", *SHORT]
    assert main(asked) == 0
    session = load_session(Path("run"))
    save_session(Path("run"), replace(session, results=session.results[:2], stop_reason="", ended_at=""))
    assert main([*asked, "--resume"]) == 0
    assert len(load_session(Path("run")).results) == 6


def test_where_times_are_not_real_none_is_shown(capsys: Capture) -> None:
    asked = ["--prompt", "8", "--generate", "4", "--output-root", "run", "--device", "scripted:emulated"]
    assert main(["llm", "decoder.pte", *asked]) == 0
    assert "emulated: times not meaningful" in capsys.readouterr().out
    tests = json.loads(Path("run/llm.json").read_text(encoding="utf-8"))["tests"]
    assert {each["tokens_per_s"] for each in tests} == {None}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "A language model is needed"),
        (["decoder.pte", "--prompt", "many"], "prompt is 'many'"),
        (["decoder.pte", "--generate", "-1"], "generate is '-1'"),
        (["decoder.pte", "--prompt", "65"], "pp65 needs a cache of 65 tokens; decoder.pte has one of 64"),
        (["decoder.pte", "--prompt", "0", "--generate", "0"], "No test is asked for"),
        (["decoder.pte", "--log", "a.log"], "decoder.pte would not be run"),
        (["absent.pte"], "There is no model absent.pte"),
        (["--log", "a.log", "--csv", "--json"], "mutually exclusive"),
    ],
)
def test_what_cannot_be_run_is_refused_before_a_device_is_opened(words: list[str], said: str, capsys: Capture) -> None:
    assert main(["llm", *words, "--device", "scripted"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "the device is ready" not in told


def test_what_other_runners_printed_is_shown(capsys: Capture) -> None:
    Path("b").mkdir()
    for path in ("a.log", "b/a.log"):
        Path(path).write_text(LOG, encoding="utf-8")
    assert main(["llm", "--log", "a.log", "--log", "b/a.log"]) == 0
    assert capsys.readouterr().out.count("a.log") == 2
    assert main(["llm", "--log", "a.log", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("a.log,8,4,")
    assert main(["llm", "--log", "a.log", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["prefill_tokens_per_s"] == 2000.0
    assert etprof.read_llm_log("a.log")[0]["prompt_tokens"] == 8


@pytest.mark.exhaustive
@pytest.mark.parametrize("runner", ["native", "python"])
def test_the_registrys_decoder_is_measured_by_the_real_runners(
    exported: SharedExports, runner: str, tmp_path: Path
) -> None:
    for name, quantization in (("fp32", None), ("4bit", GROUPED)):
        model = exported("tiny_decoder", quantization=quantization).pte
        out = tmp_path / name
        asked = ("--prompt", "8,32", "--generate", "4", "--depth", "0,8", "--blocks", "3", "--max-blocks", "3")
        run_etprof("llm", str(model), *asked, "--runs", "1", "--runner", runner, "--output-root", str(out))
        content = json.loads((out / "llm.json").read_text(encoding="utf-8"))
        tests = ["pp8", "pp32", "tg4", "pp8@d8", "pp32@d8", "tg4@d8"]
        assert list(dict.fromkeys(each["test"] for each in content["tests"])) == tests
        assert all(each["tokens_per_s"] > 0 and each["categories"]["GEMM"] > 0 for each in content["tests"])
        assert content["memory"][0]["cache_bytes"] == sum(m.state_bytes for m in read_program(model).computing)
        assert all(result.sequences_agree for result in load_session(out).results)
        run_etprof("validate", str(out), "--deep")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("quantization", "prefill", "decode"),
    [(None, "sme2_mopa", "1x16vl_sme2_mla"), (GROUPED, "neon_i8mm", "neon_dotprod")],
    ids=["fp32", "4bit"],
)
def test_a_prompt_and_a_token_take_other_kernels_under_emulated_sme2(
    exported: SharedExports, emulator: str, tmp_path: Path, quantization: Quantization | None, prefill: str, decode: str
) -> None:
    model, out = exported("tiny_decoder", quantization=quantization).pte, tmp_path / "run"
    where = ("--device", "emulated", "--emulator", emulator, "--kernels", "--output-root", str(out))
    run_etprof("llm", str(model), "--prompt", "8", "--generate", "2", *where)
    rows = [row for row in etprof.load_run(out).kernels() if str(row["experiment"]).endswith("_on_kernels")]
    assert prefill in seen_in(rows, "s0", "Fully Connected")
    assert decode in seen_in(rows, "s1", "Fully Connected")
    assert prefill not in seen_in(rows, "s1", "Fully Connected"), "one row is no product of matrices"
    # Attention is fp32 in both precisions.
    assert "sme2_mopa" in seen_in(rows, "s0", "Batch Matrix Multiply")
    assert "1x16vl_sme2_mla" in seen_in(rows, "s1", "Batch Matrix Multiply")
    tests = json.loads((out / "llm.json").read_text(encoding="utf-8"))["tests"]
    shown = [each["kernels"] for each in tests if each["experiment"].endswith("_on")]
    assert all(each.startswith("SME2 executed: yes") for each in shown)


def seen_in(rows: Iterable[Mapping[str, object]], phase: str, operator: str) -> str:
    """The kernels that were sampled in operators of this kind, in the phase of this number."""
    found = (row for row in rows if str(row["identity"]).startswith(f"{phase}."))
    return " ".join(str(row["kernel"]) for row in found if str(row["operator"]).startswith(operator) and row["samples"])
