"""The compatibility scripts: they call the commands, take the flags the users' documents show, and hold no logic."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from documented_commands import parse
from etprof.store.session_file import load_session
from parts import need
from program_builder import build_program
from reference_pages import read_scripts
from scripted_device import Witness, a_runnable_plan, scripted_device
from stock_runner import make_stock_runner

ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT / "model_profiling" / name for name in ("export", "scripts", "tools")]
SCRIPTS = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))


def run_script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "model_profiling" / name), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def a_clone(folder: Path) -> Path:
    """The compatibility scripts at their places, and nothing else."""
    shutil.copytree(ROOT / "model_profiling", folder / "model_profiling", ignore=shutil.ignore_patterns("out_*"))
    return folder


def run_outside(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A script as it is typed where no environment is active: etprof is not there for the Python of that shell."""
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    need(python.exists(), "there is no Python outside of the environment")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(clone)}
    return subprocess.run([python, *words], cwd=clone, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = a_clone(tmp_path_factory.mktemp("clone"))
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_a_script_is_a_few_lines_that_call_a_command_in_the_clones_environment(script: Path, clone: Path) -> None:
    assert len(script.read_text().splitlines()) <= 25
    name = script.relative_to(ROOT / "model_profiling").as_posix()
    command = takewhile(lambda word: not word.startswith("-"), read_scripts()[name])
    done = run_outside(clone, f"model_profiling/{name}", "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: etprof {' '.join(command)} " in done.stdout


# Every flag of the older kit's scripts, as its parsers have them.
KIT_LINES = {
    "export/export_model.py": "--model toy_cnn --backend xnnpack --dtype fp16 --outdir out --verbose --save-graph",
    "scripts/mac_pipeline.py": "--config plan.json --only A --only B --analysis-only --verbose --remote-device H:5555",
    "scripts/android_pipeline.py": "--config plan.json --only A --analysis-only --verbose --remote-device H:5555",
    "scripts/analyze_results.py": "--run-dir runs/mac --quiet",
    "scripts/generate_report.py": "--run-dir runs/mac --out report.md --title T",
    "scripts/generate_combined_report.py": "--mac-dir runs/mac --android-dir runs/android --out both.md --model-name M",
    "scripts/validate_setup.py": "--model m.pte",
    "scripts/validate_results.py": "--results runs/mac",
    "tools/etdump_to_csv.py": "--etdump a.etdump --etrecord m.pte.etrecord --strict-etrecord --out-dir out "
    "--run-index 1 --all-runs --json --model-id M",
    "tools/analyze_etdump_csv.py": "--timeline-csv a.csv --compare b.csv --name1 A --name2 B --output-dir out "
    "--model-name M -v",
    "tools/generate_kernel_view.py": "--sme2-on a.csv --sme2-off b.csv --out view.md --filter-op conv --title T",
    "tools/xnntrace_to_kernels.py": "--xnntrace a.log --out a.csv --model-id M",
}


@pytest.mark.parametrize("name", KIT_LINES)
def test_every_flag_of_the_older_kit_is_known(name: str) -> None:
    parse([*read_scripts()[name], *KIT_LINES[name].split()])


def test_the_latency_script_takes_timelines_too(clone: Path) -> None:
    for side in ("on", "off"):
        (clone / side).mkdir()
        for threads in (1, 4):
            shutil.copy(ROOT / "tests/data/traces/small_cnn.etdump", clone / side / f"{side}_t{threads}.etdump")
    on, off = ([f"{side}/{side}_t{threads}.etdump" for threads in (1, 4)] for side in ("on", "off"))
    names = ["--name1", "SME2-On", "--name2", "SME2-Off"]
    both = ["--timeline-csv", *on, "--compare", *off, *names, "--output-dir", "out", "--verbose"]
    done = run_outside(clone, "model_profiling/tools/robust_latency_analysis.py", *both)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("SME2-On against SME2-Off: ") == 2, "a comparison for each thread count"
    compared = run_outside(clone, "model_profiling/tools/analyze_etdump_csv.py", *both)
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.count("baseline SME2-Off: ") == 2
    one = run_outside(
        clone, "model_profiling/tools/robust_latency_analysis.py", "--timeline-csv", on[0], "--name", "SME2-On",
    )  # fmt: skip
    assert "SME2-On" in one.stdout


def test_the_documents_chain_works_on_a_runs_folder(tmp_path: Path) -> None:
    from etprof.app.measuring import run_plan

    plan = a_runnable_plan(tmp_path, blocks=3)
    run_plan(plan, scripted_device(), Witness(), command="test")
    folder = str(plan.output_root)
    analyzed = run_script("scripts/analyze_results.py", "--run-dir", folder, "--model", str(plan.model))
    assert analyzed.returncode == 0, analyzed.stderr
    assert "Convolution" in analyzed.stdout
    assert (plan.output_root / "analysis_summary.json").exists()
    assert run_script("tools/robust_latency_analysis.py", "--run-dir", folder).returncode == 0
    reported = run_script("scripts/generate_report.py", "--run-dir", folder)
    assert reported.returncode == 0, reported.stderr
    validated = run_script("scripts/validate_results.py", "--results", folder)
    assert validated.returncode == 0, validated.stdout


@pytest.fixture(scope="module")
def stock_run(clone: Path) -> Path:
    """A run of a stock runner, made by the script as the users' documents type it; where it went."""
    build = clone / "executorch/cmake-out"
    experiments = []
    for name, folder in (
        ("mac_sme2_on", "mac-arm64"),
        ("mac_sme2_off", "mac-arm64-sme2-off"),
        ("extra", "mac-arm64-i8mm-off"),
    ):
        (build / folder).mkdir(parents=True)
        runner = make_stock_runner(build / folder / "executor_runner")
        experiments.append({"name": name, "runner_path": str(runner.relative_to(clone)), "num_runs": 4, "warmup": 1})
    (clone / "m.pte").write_bytes(build_program())
    (clone / "plan.json").write_text(
        json.dumps({
            "model": "m.pte", "output_root": "out_m/runs/mac", "experiments": experiments, "inputs": ["input.bin"],
            "schedule": {"blocks": 1, "retries": 0},
        })
    )  # fmt: skip
    (clone / "input.bin").write_bytes(b"input")
    done = run_outside(
        clone, "model_profiling/scripts/mac_pipeline.py", "--config", "plan.json", "--only", "mac_sme2_on",
        "mac_sme2_off", "--verbose", "--runner", "python",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return clone / "out_m/runs/mac"


def test_only_takes_several_names_and_the_manifest_says_how_to_repeat_the_run(stock_run: Path) -> None:
    session = load_session(stock_run)
    assert [e.name for e in session.plan.experiments] == ["mac_sme2_on", "mac_sme2_off"]
    assert (
        session.command
        == "etprof run --config plan.json --only mac_sme2_on --only mac_sme2_off --verbose --runner python"
    )
    assert session.plan_path == stock_run.parents[2] / "plan.json"
    assert re.fullmatch("[0-9a-f]{40}", session.versions["executorch commit"])
    manifest = json.loads((stock_run / "manifest.json").read_text())
    assert manifest["plan_path"] == "../../../plan.json", "from the folder of the run"


def test_two_stock_runners_are_compared(stock_run: Path) -> None:
    session = load_session(stock_run)
    assert [(p.baseline, p.candidate) for p in session.plan.pairs] == [("mac_sme2_off", "mac_sme2_on")]
    (comparison,) = json.loads((stock_run / "analysis_summary.json").read_text())["comparisons"]
    assert (comparison["baseline"]["experiment"], comparison["candidate"]["experiment"]) == (
        "mac_sme2_off", "mac_sme2_on",
    )  # fmt: skip


def test_a_model_that_was_not_measured_is_refused(tmp_path: Path) -> None:
    from etprof.app.measuring import run_plan

    plan = a_runnable_plan(tmp_path, blocks=1)
    run_plan(plan, scripted_device(), Witness(), command="test")
    other = tmp_path / "other.pte"
    other.write_bytes(b"another")
    done = run_script("scripts/analyze_results.py", "--run-dir", str(plan.output_root), "--model", str(other))
    assert done.returncode == 2
    assert "is not the model that" in done.stderr


@pytest.mark.exhaustive
def test_a_hint_can_be_typed_where_no_environment_is_active(clone: Path) -> None:
    plan = {
        "model": "out_toy_cnn/artifacts/toy_cnn_xnnpack_fp16.pte",
        "output_root": "out",
        "experiments": [{"name": "a"}],
    }
    (clone / "early.json").write_text(json.dumps(plan))
    done = run_outside(clone, "model_profiling/scripts/mac_pipeline.py", "--config", "early.json")
    assert done.returncode == 2
    assert "hint: Export it first: `etprof export toy_cnn --dtype fp16`." in done.stderr
    assert done.stderr.endswith("note: `etprof` is .venv/bin/etprof here, or activate its environment first\n")


def test_without_an_environment_a_script_says_what_to_run(tmp_path: Path) -> None:
    done = run_outside(a_clone(tmp_path), "model_profiling/scripts/run_quick_test.py")
    assert done.returncode == 1
    assert done.stderr == (
        f"error: there is no {tmp_path}/.venv yet\nhint: bash model_profiling/scripts/setup_repo.sh\n"
    )


def test_an_environment_that_lacks_etprof_is_named(tmp_path: Path) -> None:
    clone = a_clone(tmp_path)
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    subprocess.run([python, "-m", "venv", "--without-pip", clone / ".venv"], check=True, timeout=60)
    done = run_outside(clone, "model_profiling/scripts/run_quick_test.py")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"error: etprof is not installed in {tmp_path}/.venv")


@pytest.mark.parametrize("name", ["check_prereqs", "build_runners", "export_all_models"])
def test_without_an_environment_a_shell_script_says_how_to_get_one(name: str, tmp_path: Path) -> None:
    script = shutil.copy(ROOT / f"model_profiling/scripts/{name}.sh", a_scripts_folder(tmp_path))
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "hint: bash model_profiling/scripts/setup_repo.sh" in done.stderr


@pytest.mark.parametrize(
    ("doctor", "python", "age_s", "installs"),
    [("exit 0", "exit 0", 60, False), ("exit 0", "exit 0", -60, True), ("exit 1", "exit 0", 60, True),
     ("exit 0", "exit 1", 60, True)],
    ids=["all there", "pyproject.toml has changed since", "something is missing", "no packages for the models"],
)  # fmt: skip
def test_setup_installs_only_what_is_not_there(
    doctor: str, python: str, age_s: int, installs: bool, tmp_path: Path
) -> None:
    script = shutil.copy(ROOT / "model_profiling/scripts/setup_repo.sh", a_scripts_folder(tmp_path))
    programs = {"scripts/install": 'echo "installs $2"', ".venv/bin/etprof": doctor, ".venv/bin/python": python}
    for name, text in programs.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    settings = tmp_path / "pyproject.toml"
    settings.touch()
    installed_at = (tmp_path / ".venv/bin/etprof").stat().st_mtime
    os.utime(settings, (installed_at - age_s, installed_at - age_s))
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=30)
    assert ("installs runtime,models" in done.stdout) == installs, "the example models can be exported"
    assert ("nothing to install" in done.stdout) != installs


def test_with_an_ndk_and_libraries_for_android_a_runner_is_built_for_it(tmp_path: Path) -> None:
    script = shutil.copy(ROOT / "model_profiling/scripts/build_runners.sh", a_scripts_folder(tmp_path))
    program = tmp_path / ".venv/bin/etprof"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    (tmp_path / "executorch/cmake-out-android-arm64-v8a/include/executorch").mkdir(parents=True)
    environment = {**os.environ, "ANDROID_NDK": "/opt/ndk"}
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=30, env=environment)
    assert done.stdout.splitlines()[2:] == [
        "built, for Android with /opt/ndk:", "runner build --target android-arm64"
    ]  # fmt: skip


@pytest.mark.parametrize("ndk", ["", "/opt/ndk"])
def test_building_says_what_was_built_and_what_was_skipped(ndk: str, tmp_path: Path) -> None:
    script = shutil.copy(ROOT / "model_profiling/scripts/build_runners.sh", a_scripts_folder(tmp_path))
    program = tmp_path / ".venv/bin/etprof"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "ANDROID_NDK": ndk}
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=30, env=environment)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["built, for this machine:", f"runner build --executor-scripts {tmp_path}/executorch/cmake-out"]
    assert lines[2].startswith("skipped, for Android: `etprof run --device android` builds and pushes a runner")
    assert len(lines) == (4 if ndk else 3)
    asked = subprocess.run(["bash", script, "--force"], capture_output=True, text=True, timeout=30, env=environment)
    assert asked.stdout == "runner build --force\n"


def a_scripts_folder(root: Path) -> Path:
    folder = root / "model_profiling/scripts"
    folder.mkdir(parents=True)
    return folder
