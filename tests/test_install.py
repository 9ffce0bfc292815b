"""scripts/install against indexes on this machine: which build of torch is chosen, from where, and how often."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pip
import pytest

from documented_commands import ROOT
from package_index import PackageIndex, build_wheel, serve_index

CONSTRAINTS = "torch==2.13.0\ntorchvision==0.28.0\nexecutorch==1.5.1\ntorchao==0.18.0\n"
# A package like ours: what it needs in its extras, and a build back end that hands out a wheel that is there.
PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """\
import shutil

def build_editable(folder, *_):
    return shutil.copy("tiny-1.0-py3-none-any.whl", folder).rpartition("/")[2]
"""
EXTRAS = (
    "torch>=2.13; extra == 'runtime'", "executorch>=1.5; extra == 'runtime'",
    "torchvision>=0.28; extra == 'models'",
)  # fmt: skip
NOWHERE = "http://127.0.0.1:9/whl/cpu"


@dataclass
class Clone:
    """A folder with our script, and the indexes it is told about."""

    folder: Path
    configured: PackageIndex
    cpu: PackageIndex

    def install(self, extras: str = "runtime", *, cpu_index: str = "", expect: int = 0, **environment: str) -> str:
        settings = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        settings |= {
            "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": self.configured.address, "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "0", "TORCH_CPU_INDEX": cpu_index or self.cpu.address, "PYTHON": sys.executable,
        }  # fmt: skip
        done = subprocess.run(
            ["sh", "scripts/install", "venv", extras], cwd=self.folder, env=settings | environment,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout + done.stderr

    def version(self, name: str) -> str:
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        return subprocess.run(
            [self.folder / "venv/bin/python", "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()


def make_environment(folder: Path) -> Path:
    """A virtual environment whose only package is this environment's pip; returns the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "pip").symlink_to(Path(pip.__file__).parent)
    return packages


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    folder = tmp_path / "a clone"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/install", folder / "scripts")
    for name, text in {"constraints.txt": CONSTRAINTS, "pyproject.toml": PROJECT, "backend.py": BACKEND}.items():
        (folder / name).write_text(text, encoding="utf-8")
    build_wheel(folder, "tiny", "1.0", EXTRAS, extras=("runtime", "models"))
    make_environment(folder / "venv")
    with serve_index(tmp_path / "configured") as configured, serve_index(tmp_path / "cpu") as cpu:
        for name, version in {"executorch": "1.5.1", "torchvision": "0.28.0", "torch": "2.13.0"}.items():
            configured.add(name, version)
        # What a looser request would choose.
        configured.add("torch", "2.14.0")
        yield Clone(folder, configured, cpu)


def test_the_cpu_build_is_asked_for_first_and_stays(clone: Clone) -> None:
    clone.configured.add("torch", "2.13.0+cpu")
    said = clone.install("runtime,models", cpu_index=NOWHERE)
    assert clone.version("torch") == "2.13.0+cpu"
    assert clone.configured.fetched("torch") == ["torch-2.13.0+cpu-py3-none-any.whl"]
    assert "torch-2.13.0+cpu-py3-none-any.whl" in said, "what is fetched is named"
    assert "torchvision 0.28.0+cpu, was not found. Installing the plain build." in said
    assert clone.version("torchvision") == "0.28.0"
    assert said.splitlines()[0].startswith("making venv with Python")
    assert not (clone.folder / "venv/wheels").exists()


def test_a_wheel_that_was_fetched_is_reused_after_an_interruption(clone: Clone) -> None:
    build_wheel(clone.folder / "venv/wheels", "torch", "2.13.0+cpu", requires=("sympy",))
    said = clone.install(expect=1)
    assert "torch 2.13.0+cpu was fetched before" in said
    assert "sympy" in said, "which no index has yet"
    clone.configured.add("sympy", "1.0")
    assert "torch 2.13.0+cpu is there" in clone.install()
    assert clone.configured.fetched("torch") == []
    assert (clone.version("torch"), clone.version("sympy")) == ("2.13.0+cpu", "1.0")


def test_a_system_with_musl_is_refused_with_a_sentence(clone: Clone, tmp_path: Path) -> None:
    # A Python that answers as one that was built with musl does.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in *musl*) exit 1 ;; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    said = clone.install(expect=1, PYTHON=str(python))
    assert said.startswith("error: the C library of this system is musl; torch and executorch need glibc")
    assert "etprof run --device ssh:USER@HOST" in said


@pytest.mark.exhaustive
def test_without_a_cpu_build_the_plain_one_is_installed_with_a_sentence(clone: Clone) -> None:
    said = clone.install(cpu_index=NOWHERE)
    assert (
        "The CPU build, torch 2.13.0+cpu, was not found. Installing the plain build. PyPI's needs about 2.7 GB" in said
    )
    assert clone.version("torch") == "2.13.0"


@pytest.mark.exhaustive
def test_pytorchs_own_index_is_asked_where_the_configured_ones_have_no_cpu_build(clone: Clone) -> None:
    clone.cpu.add("torch", "2.13.0+cpu")
    clone.cpu.add("torchvision", "0.28.0+cpu")
    clone.cpu.add("executorch", "9.9")
    clone.install("runtime,models")
    assert (clone.version("torch"), clone.version("torchvision")) == ("2.13.0+cpu", "0.28.0+cpu")
    assert clone.configured.fetched("torch") == []
    assert clone.cpu.fetched("executorch") == [], "nothing else is taken from there"


@pytest.mark.exhaustive
def test_an_index_that_never_answers_is_given_up_and_asked_only_once(clone: Clone) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = clone.install("runtime,models", cpu_index=f"http://127.0.0.1:{silent.getsockname()[1]}")
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert said.count("was not found") == 2


@pytest.mark.exhaustive
def test_a_failure_that_is_not_a_missing_build_ends_the_installation(clone: Clone) -> None:
    clone.configured.add("torch", "2.13.0+cpu")
    (clone.configured.folder / "torch/torch-2.13.0+cpu-py3-none-any.whl").write_bytes(b"no wheel")
    said = clone.install(expect=1)
    assert "ERROR" in said
    assert "Installing the plain build" not in said


@pytest.mark.exhaustive
def test_on_macos_the_plain_build_is_asked_for(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uname").write_text("#!/bin/sh\necho Darwin\n")
    (tmp_path / "bin/uname").chmod(0o755)
    said = clone.install(PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert clone.version("torch") == "2.13.0"
    assert "CPU build" not in said
    assert clone.cpu.asked == []


def test_the_torch_of_the_active_environment_is_used_when_told_to(clone: Clone, tmp_path: Path) -> None:
    active = make_environment(tmp_path / "active environment")
    shutil.unpack_archive(build_wheel(tmp_path, "torch", "2.13.0+cu130"), active, "zip")
    python = str(tmp_path / "active environment/bin/python")
    clone.install(PYTHON=python, SYSTEM_TORCH="1")
    assert clone.version("torch") == "2.13.0+cu130"
    assert clone.configured.fetched("torch") == []


def test_another_torch_in_the_active_environment_is_refused(clone: Clone, tmp_path: Path) -> None:
    active = make_environment(tmp_path / "active")
    shutil.unpack_archive(build_wheel(tmp_path, "torch", "2.12.1"), active, "zip")
    said = clone.install(PYTHON=str(tmp_path / "active/bin/python"), SYSTEM_TORCH="1", expect=1)
    assert "the torch of" in said
    assert "is 2.12.1; etprof needs 2.13.0" in said
