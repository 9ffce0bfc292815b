"""A program whose operators no runner of ours has is refused before anything runs, with their names."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.app.program_checks import settle_plan
from etprof.app.program_operators import refuse_missing_operators
from etprof.cli.main import main
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from etprof.runner.operators import find_custom_library
from etprof.runner.sdk import installed_sdk
from etprof.store.session_file import load_session
from parts import need
from program_builder import Call, Method, build_program
from scripted_device import a_runnable_plan, run_scripted


def plan_calling(folder: Path, *operators: str) -> Plan:
    plan = a_runnable_plan(folder, blocks=1)
    calls = [Call("aten::add.out", (0, 1)), *(Call(name, (0,)) for name in operators)]
    plan.model.write_bytes(build_program(Method(calls=calls)))
    return plan


def test_what_every_runner_has_runs(tmp_path: Path, libraries: None) -> None:
    assert all(result.is_ok for result in run_scripted(plan_calling(tmp_path)).session.results)


def test_operators_of_language_models_need_the_python_runner(tmp_path: Path, libraries: None) -> None:
    need(find_custom_library(installed_sdk().prefix), "the installed wheel has no operators for language models")
    plan = plan_calling(tmp_path, "llama::custom_sdpa.out", "llama::update_cache.out")
    said = "the native runner does not have: llama::custom_sdpa.out, llama::update_cache.out"
    with pytest.raises(UsageError, match=said) as caught:
        run_scripted(plan)
    assert caught.value.hint == "The Python runner of this machine has them: --runner python"
    assert not plan.output_root.exists(), "nothing was begun"
    assert run_scripted(plan, is_python=True).session.results


def test_operators_that_nobody_has_are_named_without_false_hope(tmp_path: Path, libraries: None) -> None:
    plan = plan_calling(tmp_path, "mine::special.out")
    for is_python, runner in ((False, "native"), (True, "Python")):
        with pytest.raises(UsageError, match=f"the {runner} runner does not have: mine::special.out") as caught:
            run_scripted(plan, is_python=is_python)
        assert caught.value.hint.startswith("Export the model without them")


def test_a_runner_that_an_experiment_names_may_have_its_own(tmp_path: Path, libraries: None) -> None:
    plan = plan_calling(tmp_path, "mine::special.out")
    settled = settle_plan(plan)
    named = replace(plan, experiments=tuple(replace(e, runner_path=tmp_path / "mine") for e in plan.experiments))
    refuse_missing_operators(named, settled, is_python=False)
    with pytest.raises(UsageError, match=r"mine::special\.out"):
        refuse_missing_operators(plan, settled, is_python=False)


@pytest.mark.exhaustive
def test_the_python_runner_runs_what_the_native_one_refuses(tmp_path: Path, libraries: None) -> None:
    need(find_custom_library(installed_sdk().prefix), "the installed wheel has no operators for language models")
    model = tmp_path / "sdpa.pte"
    export = Path(__file__).parents[1] / "runner" / "export_custom_operators.py"
    subprocess.run([sys.executable, str(export), str(model)], check=True, timeout=300)
    asked = ["profile", str(model), "--blocks", "1", "--max-blocks", "1", "--runs", "2"]
    assert main([*asked, "--runner", "native", "--output-root", str(tmp_path / "native")]) == 2
    assert not (tmp_path / "native").exists()
    run_etprof(*asked, "--runner", "python", "--output-root", str(tmp_path / "python"))
    session = load_session(tmp_path / "python")
    assert all(result.is_ok and result.runner == "python" for result in session.results)
