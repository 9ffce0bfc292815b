"""The stored table of kernels is true: layers that are probed again execute what it says."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from etprof.analysis.executed_kernels import ExecutedNode
from etprof.core.errors import UnknownNameError
from etprof.core.operators import OperatorId
from etprof.core.predictions import CpuLevel, KernelCase
from kernel_case_builder import a_layer, a_row, a_table_of
from probe_kernels import Observed, build_rows, compare, main

SCRIPT = Path(__file__).parents[2] / "scripts" / "probe_kernels.py"
LINEAR = a_layer("XNNFullyConnected", (64, 32), (48, 32), (64, 48))
CASE = KernelCase("fully connected", "fp32", "fp32", "fp32", True, "many rows")


# It needs an emulator and a cache of its own.
@pytest.mark.exhaustive
@pytest.mark.usefixtures("emulator")
def test_some_layers_that_are_probed_again_agree_with_the_stored_table() -> None:
    names = ("transposed_int8", "linear_fp16")
    # A process of its own: the export stack warns about itself, and here warnings are errors.
    done = subprocess.run([sys.executable, str(SCRIPT), *names], capture_output=True, text=True, timeout=300)
    assert (done.returncode, "0 problems" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_model_that_is_not_probed_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"There is no probed model called 'linear_fp17'") as raised:
        main(["linear_fp17"])
    assert "linear_fp16" in raised.value.hint


def seen(*families: str | None) -> dict[CpuLevel, list[ExecutedNode]]:
    """Nodes of one case with these families, the same on every level."""
    nodes = [ExecutedNode(0, LINEAR, OperatorId("d0.0"), family, ("kai_a",)) for family in families]
    return {level: list(nodes) for level in CpuLevel}


def observe(*families: str | None) -> Observed:
    return {CASE: seen(*families)}


def test_layers_of_one_case_make_one_row() -> None:
    rows, problems = build_rows(observe("SME2", None, "SME2"))
    assert (problems, len(rows)) == ([], 1)
    assert (rows[0].case, set(rows[0].families.values())) == (CASE, {"SME2"})
    assert rows[0].functions[CpuLevel.SME2] == ("kai_a",)


@pytest.mark.parametrize(("families", "said"), [(("SME2", "NEON"), "NEON and SME2"), ((None,), ": open")])
def test_a_contradiction_or_too_few_samples_are_a_problem_and_no_row(families: Sequence[str | None], said: str) -> None:
    rows, problems = build_rows(observe(*families))
    assert rows == ()
    assert len(problems) == len(CpuLevel)
    assert all(said in problem for problem in problems)


def test_a_row_that_is_stored_otherwise_or_not_at_all_is_a_problem() -> None:
    row = a_row(CASE, "SME2")
    assert compare([row], a_table_of(row)) == []
    assert "stored {" in compare([row], a_table_of(a_row(CASE, "NEON")))[0]
    assert "stored nothing" in compare([row], None)[0]
