"""The compatibility scripts: they call the commands, take the flags the users' documents show, and hold no logic."""

import os
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from reference_pages import read_scripts
from scripted_device import Witness, a_runnable_plan, scripted_device

ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT / "model_profiling" / name for name in ("export", "scripts", "tools")]
SCRIPTS = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))


def run_script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "model_profiling" / name), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_a_script_is_a_few_lines_that_call_a_command(script: Path) -> None:
    assert len(script.read_text().splitlines()) <= 25
    name = script.relative_to(ROOT / "model_profiling").as_posix()
    command = takewhile(lambda word: not word.startswith("-"), read_scripts()[name])
    done = run_script(name, "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: etprof {' '.join(command)} " in done.stdout


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


def test_a_model_that_was_not_measured_is_refused(tmp_path: Path) -> None:
    from etprof.app.measuring import run_plan

    plan = a_runnable_plan(tmp_path, blocks=1)
    run_plan(plan, scripted_device(), Witness(), command="test")
    other = tmp_path / "other.pte"
    other.write_bytes(b"another")
    done = run_script("scripts/analyze_results.py", "--run-dir", str(plan.output_root), "--model", str(other))
    assert done.returncode == 2
    assert "is not the model that" in done.stderr


@pytest.mark.parametrize("name", ["check_prereqs", "build_runners", "export_all_models"])
def test_without_an_environment_a_shell_script_says_how_to_get_one(name: str, tmp_path: Path) -> None:
    script = shutil.copy(ROOT / f"model_profiling/scripts/{name}.sh", a_scripts_folder(tmp_path))
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "hint: bash model_profiling/scripts/setup_repo.sh" in done.stderr


@pytest.mark.parametrize(
    ("doctor", "age_s", "installs"),
    [("exit 0", 60, False), ("exit 0", -60, True), ("exit 1", 60, True)],
    ids=["all there", "pyproject.toml has changed since", "something is missing"],
)
def test_setup_installs_only_what_is_not_there(doctor: str, age_s: int, installs: bool, tmp_path: Path) -> None:
    script = shutil.copy(ROOT / "model_profiling/scripts/setup_repo.sh", a_scripts_folder(tmp_path))
    for name, text in {"scripts/install": 'echo "installs $2"', ".venv/bin/etprof": doctor}.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    settings = tmp_path / "pyproject.toml"
    settings.touch()
    installed_at = (tmp_path / ".venv/bin/etprof").stat().st_mtime
    os.utime(settings, (installed_at - age_s, installed_at - age_s))
    done = subprocess.run(["bash", script], capture_output=True, text=True, timeout=30)
    assert ("installs runtime" in done.stdout) == installs
    assert ("nothing to install" in done.stdout) != installs


def a_scripts_folder(root: Path) -> Path:
    folder = root / "model_profiling/scripts"
    folder.mkdir(parents=True)
    return folder
