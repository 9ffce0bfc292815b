"""The command itself: quick, complete, and never a traceback."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import COMMANDS, main
from scripted_device import Witness, a_runnable_plan, scripted_device

Capture = pytest.CaptureFixture[str]

HEAVY = ("torch", "executorch", "torchao", "scipy", "polars", "altair", "jinja2")


def test_help_comes_at_once_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from etprof.cli.main import main; main(['--help']);"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    times = []
    for _ in range(3):
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        times.append(time.monotonic() - start)
        assert done.stderr.strip() == "[]"
    assert min(times) < 0.5


def test_help_lists_every_command_with_a_line_about_it(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    listed = dict(re.findall(r"^  ([a-z-]+) +(\S.*)$", capsys.readouterr().out, re.M))
    assert set(listed) >= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_each_of_its_options(name: str, capsys: Capture) -> None:
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Usage: etprof" in text
    options = re.findall(r"^  --[\w-]+.*$", text, re.M)
    silent = [line for line in options if re.fullmatch(r"  --[\w-]+( [A-Z]+)?", line)]
    # A long option has its text on the next line; a silent one has none at all.
    assert all(re.search(re.escape(line) + r"\n {10,}\S", text) for line in silent)


def test_a_wrong_command_exits_2_without_a_traceback() -> None:
    assert "No such command" in run_etprof("nope", expect=2)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run",), 2, "A run needs a plan"),
        (("run", "--config", "none.json"), 1, "There is no file none.json"),
        (("run", "none.json"), 1, "There is no file none.json"),
        (("run", "a.json", "--config", "b.json"), 2, "Give one plan: a.json or b.json."),
        (("run", "--device", "moon"), 2, "There is no device 'moon'"),
        (("run", "--device", "recorded:none", "--output-root", "x"), 1, "none/manifest.json"),
        (("run", "--force", "--resume"), 2, "give one of them"),
        (("profile", "none.pte"), 2, "There is no model none.pte"),
        (("analyze", "none"), 2, "There is no folder none"),
        (("validate",), 2, "Give the folder of one run"),
        (("export", "toy_cn"), 2, "toy_cnn"),
    ],
)
def test_a_mistake_gets_one_message_with_a_hint(
    arguments: tuple[str, ...], code: int, said: str, capsys: Capture
) -> None:
    assert main(list(arguments)) == code
    text = capsys.readouterr().err
    assert said in text
    assert text.startswith("error: ")


@pytest.fixture
def a_run(tmp_path: Path) -> Path:
    from etprof.pipeline import run_plan

    plan = a_runnable_plan(tmp_path, blocks=3)
    run_plan(plan, scripted_device(), Witness(), command="test")
    return plan.output_root


def test_a_replay_goes_from_recording_to_report(a_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", "--device", f"recorded:{a_run}", "--output-root", str(tmp_path / "again")]) == 0
    text = capsys.readouterr().out
    assert "pipeline ok" in text
    assert "report ok" in text
    assert "speed-up 2.00x" in text
    assert main(["validate", str(tmp_path / "again"), "--deep"]) == 0
    assert main(["run", "--device", f"recorded:{a_run}", "--output-root", str(tmp_path / "again")]) == 2


def test_a_failed_block_makes_the_exit_code_1_and_is_in_the_report(tmp_path: Path, capsys: Capture) -> None:
    from etprof.pipeline import run_plan

    plan = a_runnable_plan(tmp_path, off="refuse", blocks=2)
    run_plan(plan, scripted_device(), Witness(), command="test")
    assert main(["run", "--device", f"recorded:{plan.output_root}", "--output-root", str(tmp_path / "again")]) == 1
    assert "pipeline ended with 2 failed blocks" in capsys.readouterr().out
    assert "exit code 3" in (tmp_path / "again" / "report.md").read_text()


def test_a_dry_run_says_what_would_run_and_writes_nothing(tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "plan.json"
    experiments = [{"name": "off", "hide_isa": ["sme2"]}, {"name": "on"}]
    config.write_text(json.dumps({"model": "m.pte", "output_root": str(tmp_path / "o"), "experiments": experiments}))
    assert main(["run", "--config", str(config), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "round 2: on_t1, off_t1" in text
    assert "compare: on against off" in text
    assert not (tmp_path / "o").exists()


def test_analysis_only_runs_nothing(a_run: Path, tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "plan.json"
    plan = {"model": "m.pte", "output_root": str(a_run), "experiments": [{"name": "on"}]}
    config.write_text(json.dumps(plan))
    assert main(["run", "--config", str(config), "--analysis-only"]) == 0
    assert "report ok" in capsys.readouterr().out


def test_latency_prints_the_robust_statistics(a_run: Path, capsys: Capture) -> None:
    assert main(["latency", str(a_run)]) == 0
    assert re.search(r"median +│ +4\.01 ms +│ +2\.00 ms", capsys.readouterr().out)
    stats = json.loads((a_run / "on" / "on_t1_robust_stats.json").read_text())
    assert stats["median_ms"] == pytest.approx(2.004)
    assert len(stats["samples_by_block"]) == 3


def test_doctor_speaks_to_people_and_to_machines(capsys: Capture) -> None:
    code = main(["doctor"])
    people = capsys.readouterr().out
    assert main(["doctor", "--json"]) == code
    machines = json.loads(capsys.readouterr().out)
    assert machines["can_run"] is (code == 0)
    assert all(check["name"] in people for check in machines["checks"])
