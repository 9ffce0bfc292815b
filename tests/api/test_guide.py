"""The guide and the notebook do what they say: every line of both is executed, on this machine and for real."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from parts import need

GUIDES = Path(__file__).parents[2] / "docs/guides"
NOTEBOOK = GUIDES / "profile_in_python.ipynb"


def read_notebook() -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


@pytest.fixture(autouse=True)
def runtime() -> None:
    need(find_spec("torch") and find_spec("executorch") and find_spec("torchao"), "torch or executorch is missing")


@pytest.mark.exhaustive
def test_the_guides_examples_run_in_their_order(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (GUIDES / "python.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 8
    program = tmp_path / "guide.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "<Run out_toy_cnn/runs/" in done.stdout
    assert "scale q8" in done.stdout
    assert (tmp_path / re.findall(r"^(out_\S+report\.html)$", done.stdout, re.M)[0]).is_file()
    assert done.stdout.rstrip().endswith("such as out_<model>/runs/<platform>.")


def test_the_notebook_is_kept_without_outputs() -> None:
    for cell in read_notebook().cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


# The guide above does the same without a kernel of Jupyter.
@pytest.mark.exhaustive
# ipykernel's own sockets and its event loop warn while they are closed.
@pytest.mark.filterwarnings("default")
def test_the_notebook_runs_and_shows_the_summary(tmp_path: Path) -> None:
    notebook = read_notebook()
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = {
        cell.source.splitlines()[-1]: [output for output in cell.outputs if output.output_type != "stream"]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    (summary,) = shown["run"]
    assert "toy_cnn_xnnpack_fp32.pte" in summary.data["text/html"]
    assert "Convolution" in summary.data["text/html"]
    assert summary.data["text/plain"].startswith("<Run ")
    (comparison,) = shown["etprof.compare(run, again)"]
    assert "against" in comparison.data["text/html"]
    assert not list(tmp_path.iterdir()), "a notebook writes into its temporary folder only"
