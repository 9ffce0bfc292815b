"""Every skill of the repository, executed end to end by `etprof skills verify` in a workspace of its own."""

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from adbd import SERIAL, running_adbd
from conftest import ROOT, run_etprof
from etprof.core.errors import DependencyError
from etprof.devices.emulator import find_emulator
from etprof.runner.build import cache_dir
from etprof.runner.cpu_features import host_architecture
from etprof.runner.cross import CROSS_COMPILER
from etprof.runner.toolchain import compiler_path
from etprof.skills.catalogue import DEFAULT_SKILLS_DIR, list_skills
from parts import need

X86_PLAN = "model_profiling/configs/examples/linux_x86_toy_cnn.json"
QUICK = {"runs": "3", "blocks": "2"}
# What must have been executed before each skill, and the inputs that keep it short or steady on a shared machine.
CASES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "setup_workspace": ((), {}),
    "build_runners": ((), {}),
    "export_model": ((), {}),
    "run_profiling": (("export_model",), QUICK),
    "analyze_results": (("run_profiling",), {}),
    "validate_workflow": ((), {"out": "out_validated"}),
    "report_generation": (("run_profiling",), {}),
    "onboard_edgetam": ((), {}),
    "minimal_smoke_test": ((), {}),
    "regression_check": (("minimal_smoke_test",), {"tolerance": "900", "options": "--blocks 3 --max-blocks 3"}),
}


class Workspace:
    """A copy of what the commands need of a clone, with the tests' own environment as its .venv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said: dict[str, str] = {}
        shutil.copytree(ROOT / "model_profiling", folder / "model_profiling", ignore=shutil.ignore_patterns("out_*"))
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
        # Older than the environment: a workspace that is set up already, into which nothing is installed.
        os.utime(folder / "pyproject.toml", (0, 0))
        (folder / ".venv").symlink_to(sys.prefix)

    def verify(self, name: str, inputs: dict[str, str], *, expect: int = 0) -> str:
        given = [word for key, value in inputs.items() for word in ("--input", f"{key}={value}")]
        arguments = ("skills", "verify", name, "--workdir", str(self.folder), *given)
        return run_etprof(*arguments, expect=expect, timeout=1800)

    def execute(self, name: str) -> str:
        """Executes a skill of the table once, after those it needs."""
        if name not in self._said:
            before, inputs = CASES[name]
            for other in before:
                self.execute(other)
            self._said[name] = self.verify(name, inputs)
        return self._said[name]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    need(find_spec("torch") and find_spec("executorch"), "torch and executorch are not installed")
    need(compiler_path(), "there is no C++ compiler")
    need((Path(sys.prefix) / "bin/etprof").exists(), "etprof is not installed in this environment")
    return Workspace(tmp_path_factory.mktemp("workspace") / "clone")


def test_every_skill_is_executed_here() -> None:
    assert {skill.name for skill in list_skills(ROOT / DEFAULT_SKILLS_DIR)} == set(CASES)


# EdgeTAM takes longer than all the others together.
EDGETAM = "onboard_edgetam"
# These take their time; the shorter ones are parts of the same workflow.
LONG = (EDGETAM, "validate_workflow", "minimal_smoke_test", "regression_check", "export_model")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] if name in LONG else []) for name in CASES]
)
def test_a_skill_does_what_its_contract_promises(name: str, workspace: Workspace) -> None:
    if name == EDGETAM:
        need(find_spec("transformers") and find_spec("timm"), "transformers and timm are not installed")
    command = workspace.folder / ".venv/bin/etprof"
    installed = command.stat().st_mtime_ns
    assert f"{name}: pass" in workspace.execute(name)
    assert command.stat().st_mtime_ns == installed, "a workspace that is set up is not installed again"


@pytest.fixture
def android(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The options that lead to the device."""
    with running_adbd(tmp_path / "adbd") as device:
        device.use(monkeypatch)
        folder = tmp_path / "device"
        folder.mkdir()
        yield f"--device-folder {folder}"


def test_profiling_on_android(workspace: Workspace, android: str) -> None:
    workspace.execute("export_model")
    plan = {"x86_64": X86_PLAN, "arm64": "model_profiling/configs/templates/android_template.json"}[host_architecture()]
    places = {"platform": "android", "device": f"android:{SERIAL}", "options": android, "template": plan}
    assert "run_profiling: pass" in workspace.verify("run_profiling", places | QUICK)


@pytest.mark.exhaustive
def test_the_whole_workflow_on_android(workspace: Workspace, android: str) -> None:
    workspace.verify("validate_workflow", {"platform": "android", "out": "out_validated", "options": android})
    assert (workspace.folder / "out_validated/runs/android/manifest.json").exists()


@pytest.mark.exhaustive
def test_the_whole_workflow_under_emulation(workspace: Workspace) -> None:
    need(shutil.which(CROSS_COMPILER), f"there is no {CROSS_COMPILER}")
    try:
        find_emulator(cache_dir() / "emulator")
    except DependencyError as error:
        need(False, error.message)
    workspace.verify("validate_workflow", {"platform": "emulated", "out": "out_validated"})
    assert "emulated: times not meaningful" in (workspace.folder / "out_validated/runs/emulated/report.md").read_text()


def test_what_is_not_here_is_unknown(workspace: Workspace) -> None:
    workspace.execute("export_model")
    said = workspace.verify("run_profiling", {"device": "android:nowhere"}, expect=3)
    assert "the device cannot be reached" in said
    assert "run_profiling: unknown" in said
    assert "pass     step" not in said
    said = workspace.verify("regression_check", {"known_good": "nowhere"}, expect=3)
    assert "there is no known-good run to check against" in said
