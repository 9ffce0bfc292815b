"""A folder like the repository's root in which documented commands are run: toy_cnn is exported and profiled in it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from documented_commands import ROOT, Command, fill_in
from etprof.core.extensions import best_extension
from etprof.runner.build import cache_dir
from etprof.runner.cpu_features import host_architecture, present_features

_GIVEN = (
    "README.md", "Makefile", "pyproject.toml", "scripts", "bench", "docs",
    "model_profiling", "agent_skill_ml_profiling",
)  # fmt: skip
_FP16 = "toy_cnn_xnnpack_fp16"
_FP32 = "toy_cnn_xnnpack_fp32"
# The runs that are measured, by the names of their variants in the documents, and the model of each.
_MAC = ("mac_sme2_off", "mac_sme2_on", _FP16)
_LINUX = ("linux_avx512_off", "linux_avx512_on", _FP32)
_RUN_FOLDER = re.compile(r"(?P<home>[\w./-]*?)\bruns/(?P<name>\w+)\b")
# Plans that a document calls its reader's own, and what the reader makes them from.
_READERS_PLANS = {
    "model_profiling/configs/timing_config.json": "model_profiling/configs/examples/mac_mobilenet_fp16.json",
    "model_profiling/configs/trace_config.json": "model_profiling/configs/examples/mac_trace.json",
    "my_plan.json": "model_profiling/configs/examples/linux_x86_toy_cnn.json",
}


class Workspace:
    """`folder` stands for the repository's root; nothing that is run there reaches the real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def copy_to(self, folder: Path) -> "Workspace":
        shutil.copytree(self.folder, folder, symlinks=True)
        return Workspace(folder)

    def run(self, line: str, timeout: float = 120, *, active: bool = True) -> subprocess.CompletedProcess[str]:
        """`active` says whether the reader has activated the environment by then."""
        binaries = Path(sys.executable).parent if active else self._plain_python()
        others = (place for place in os.environ["PATH"].split(os.pathsep) if not place.startswith(sys.prefix))
        environment = {
            **os.environ, "HOME": str(self.folder), "ETPROF_CACHE": str(cache_dir()), "COLUMNS": "120",
            "MODEL": "toy_cnn", "PATH": os.pathsep.join((str(binaries), *others)),
        }  # fmt: skip
        return subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=timeout
        )

    def _plain_python(self) -> Path:
        """A folder with the `python` of a machine on which nobody has activated anything."""
        folder = self.folder / "plain_python"
        if not folder.exists():
            folder.mkdir()
            base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
            (folder / "python").symlink_to(base)
        return folder

    def run_command(self, command: Command) -> None:
        """Runs it as it is typed, once everything is there that its reader has by then."""
        for found in _RUN_FOLDER.finditer(command.plain):
            self._stand_in(Path(found["home"]), found["name"])
        self._run_typed(command)

    def rehearse_command(self, command: Command) -> None:
        """Runs it with --dry-run: the plan is read, and no device is touched."""
        self._run_typed(command, " --dry-run")

    def _run_typed(self, command: Command, more: str = "") -> None:
        for plan, source in _READERS_PLANS.items():
            if plan in command.plain and not (self.folder / plan).exists():
                shutil.copy(self.folder / source, self.folder / plan)
        # The users' own documents tell no reader to activate the environment before the scripts are called.
        active = not command.document.startswith("tests/data/seed_commands/")
        done = self.run("\n".join([*command.variables, fill_in(command.text) + more]), active=active)
        # A check of a run against its own copy passes, or is undecided on a noisy machine.
        expected = (0, 3) if command.plain.startswith("etprof check ") else (0,)
        assert done.returncode in expected, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        self._fill_in_plans()

    def _stand_in(self, home: Path, name: str) -> None:
        """Any run a document names is there: a copy of one of ours, with the artifacts beside it."""
        baseline = (_MAC if name in ("mac", "android") else _LINUX)[0]
        measured = self.folder / "measured" / baseline
        for source, target in (("artifacts", "artifacts"), ("runs/here", f"runs/{name}")):
            if not (self.folder / home / target).exists():
                shutil.copytree(measured / source, self.folder / home / target)

    def _fill_in_plans(self) -> None:
        """What a document tells its reader to do with the copy of a template: put the model's path there."""
        for path in (*self.folder.glob("*.json"), *(self.folder / "model_profiling/configs").glob("*.json")):
            plan = json.loads(path.read_bytes())
            if str(plan.get("model", "")).startswith("<"):
                path.write_text(json.dumps({**plan, "model": f"out_toy_cnn/artifacts/{_FP16}.pte"}), encoding="utf-8")


def build_workspace(folder: Path) -> Workspace:
    """Builds the runner, exports toy_cnn in two precisions and profiles it, by the compatibility scripts."""
    for name in _GIVEN:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("out_*", "__pycache__"))
        else:
            shutil.copy(source, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    workspace = Workspace(folder)
    _must(workspace.run("bash model_profiling/scripts/build_runners.sh"))
    exported = folder / "model_profiling/out_toy_cnn/artifacts"
    export = f"python model_profiling/export/export_model.py --model toy_cnn --outdir {exported} --dtype "
    _must(workspace.run(export + "fp16"))
    _must(workspace.run(export + "fp32"))
    for baseline, candidate, stem in (_MAC, _LINUX):
        measured = folder / "measured" / baseline
        shutil.copytree(exported, measured / "artifacts")
        plan = measured / "plan.json"
        threads = [1, 2] if baseline == _MAC[0] else [1]
        content = _plan(baseline, candidate, measured / f"artifacts/{stem}.pte", measured / "runs/here", threads)
        plan.write_text(json.dumps(content))
        _must(workspace.run(f"python model_profiling/scripts/mac_pipeline.py --config {plan}"))
    return workspace


def _plan(baseline: str, candidate: str, model: Path, output_root: Path, threads: list[int]) -> dict[str, object]:
    """A short plan of two experiments, the first without the best that this CPU has.

    That of the documents' example has two thread counts: a pattern then names two files.
    """
    hidden = best_extension(host_architecture(), present_features()).hide_isa
    common = {"num_runs": 10, "traced_runs": 3, "num_threads": threads}
    return {
        "model": str(model),
        "output_root": str(output_root),
        "experiments": [{"name": baseline, "hide_isa": hidden, **common}, {"name": candidate, **common}],
        "schedule": {"blocks": 3, "retries": 0},
        "analysis": {"compare_pairs": [{"baseline": baseline, "candidate": candidate}]},
    }


def _must(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
