"""A wheel built from this tree holds the package and nothing else, and works in an empty folder."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from email.policy import compat32
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from etprof.export.meta import load_meta
from etprof.runner.toolchain import compiler_path
from parts import need

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "etprof"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need(find_spec("hatchling"), "hatchling is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--wheel-dir", str(folder), str(ROOT), cwd=folder,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


def run(*command: str, cwd: Path, path: Sequence[Path] = (), **variables: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    search = os.pathsep.join([*map(str, path), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=cwd, env={**inherited, "PATH": search, **variables}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name) for name in archive.namelist()}
    described = {name for name in names if name.parts[0].endswith(".dist-info")}
    expected = {path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*") if path.is_file()}
    expected = {path for path in expected if "__pycache__" not in path.parts and path.name != ".clang-format"}
    assert names - described == expected
    assert {name.name for name in described} == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "LICENSE"}


def test_it_never_brings_torch_by_itself(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        described = Parser(policy=compat32).parsestr(archive.read(name).decode())
    requirements = [Requirement(line) for line in described.get_all("Requires-Dist", [])]
    always = {each.name for each in requirements if each.marker is None}
    assert {"numpy", "typer"} <= always
    assert always.isdisjoint({"torch", "executorch", "torchao", "torchvision"})
    assert described["Requires-Python"] == ">=3.11"


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Path:
    """A fresh virtual environment with the wheel; its dependencies are those of this one, found by path."""
    folder = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", str(folder), cwd=tmp_path)
    python = folder / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        str(wheel),
        cwd=tmp_path,
    )
    (site,) = folder.glob("lib/python*/site-packages")
    # A folder that a .pth file names has its own .pth files ignored, so the editable etprof in it stays invisible.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder


@pytest.mark.exhaustive
def test_quickstart_runs_to_its_end_in_an_empty_folder(environment: Path, tmp_path: Path) -> None:
    need(find_spec("torch") and find_spec("executorch") and find_spec("torchao"), "torch or executorch is missing")
    need(compiler_path(), "there is no C++ compiler")
    work = tmp_path / "work"
    work.mkdir()
    code = "import etprof; print(etprof.__file__)"
    imported = run(str(environment / "bin" / "python"), "-c", code, cwd=work).strip()
    assert Path(imported).is_relative_to(environment)
    # A cache of its own, so that the runner is built from the sources in the wheel; CMake and Ninja are ours.
    said = run(
        str(environment / "bin" / "etprof"), "quickstart", cwd=work, path=[Path(sys.executable).parent],
        ETPROF_CACHE=str(tmp_path / "cache"),
    )  # fmt: skip
    assert [stage for stage in ("export ok", "pipeline ok", "report ok") if stage not in said.splitlines()] == []
    (runner,) = (tmp_path / "cache").rglob("etprof_runner")
    assert runner.is_file()
    (report,) = work.glob("out_toy_cnn/runs/*/report.html")
    assert "toy_cnn" in report.read_text(encoding="utf-8")
    meta = load_meta(work / "out_toy_cnn" / "artifacts" / "toy_cnn_xnnpack_fp32.pte")
    assert meta is not None
    assert (meta.model_source.origin, meta.model_source.location) == ("etprof", "etprof.export.demo.toy_cnn")
