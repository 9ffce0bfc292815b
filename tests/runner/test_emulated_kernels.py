"""Which kernels execute under emulated SME2, shown and hidden, in every precision: what is predicted is true."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.kernels.evidence import build_evidence
from etprof.analysis.kernels.kernel_doubts import find_kernel_doubts
from etprof.analysis.kernels.missing_kernels import Expected
from etprof.analysis.kernels.predictions import predict_kernels
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.analysis.predicted_kernels import PredictedVariant, find_level
from etprof.core.categories import COMPUTE
from etprof.core.findings import FindingKind
from etprof.core.kernel_evidence import Executed, KernelEvidence, OperatorKernels
from etprof.core.loaded_run import SampledBlock
from etprof.core.plan import Variant
from etprof.core.trace import Trace
from etprof.runner.bundle import Bundle
from etprof.store.kernel_table_file import load_kernel_table
from etprof.traces.etdump import read_etdump
from etprof.traces.kernel_samples import read_kernel_samples
from etprof.traces.program_graph import read_graphs
from runner_block import run_block

# They need an emulator and a cache of their own, and take minutes; app/test_devices.py proves the same of one model.
pytestmark = pytest.mark.exhaustive

# Which operators of each model run on SME2, in order; the others run on NEON.
EXPECTED = {
    "kinds_fp32": {"IGEMM": True, "DWConv": False, "GEMM": True, "Subconv2D": False},
    "kinds_fp16": {"IGEMM": True, "DWConv": False, "Subconv2D": False},
    "kinds_int8": {"IGEMM": True, "DWConv": False, "GEMM": True},
    "kinds_int8_tensor": {"IGEMM": True, "DWConv": False, "GEMM": False},
    "products_fp32": {"GEMM": True},
    "products_fp16": {"GEMM": True},
    "products_dynamic": {"GEMM": True},
}


@pytest.fixture(scope="session")
def command(arm_bundle: Bundle, emulator: str) -> Sequence[str]:
    return (emulator, "-cpu", "max", *arm_bundle.command(str(arm_bundle.folder)))


def prove(
    command: Sequence[str], model: Path, folder: Path, *flags: str, elsewhere: Sequence[Sequence[str]] = ()
) -> KernelEvidence:
    return prove_expected(command, model, folder, *flags, elsewhere=elsewhere)[0]


def prove_expected(
    command: Sequence[str], model: Path, folder: Path, *flags: str, elsewhere: Sequence[Sequence[str]] = ()
) -> tuple[KernelEvidence, Expected]:
    """What executed, and what the stored table predicts of the graph inside the .pte."""
    path = folder / "block.kernels"
    block = run_block(
        command, model, folder, "--num_executions", "1", "--traced_executions", "2",
        "--kernel_samples", str(path), "--sample_ms", "1800", "--sample_rate", "4000", *flags,
    )  # fmt: skip
    assert block.exit_code == 0, block.stderr
    trace = read_etdump(block.etdump)
    expected = expect(model, trace, block.result)
    evidence = build_evidence(
        Variant(model.stem, 1),
        [SampledBlock(read_kernel_samples(path), trace)],
        seen=block.result["features_seen"],
        hidden=block.result["features_hidden"],
        elsewhere=elsewhere,
        expected=expected,
    )
    return evidence, expected


def expect(model: Path, trace: Trace, result: dict[str, Any]) -> Expected:
    graph, table = read_graphs(model)["forward"], load_kernel_table(result["executorch_version"])
    assert table is not None
    nodes = list_mapped(align_operators(collect_operators([trace]), graph))
    level = find_level(set(result["features_seen"]) - set(result["features_hidden"]))
    return PredictedVariant(level, table, predict_kernels(graph, table), nodes).expected


def predicted_family(expected: Expected, row: OperatorKernels) -> str | None:
    assert expected.level is not None
    return expected.by_operator[row.identity].families[expected.level]


@pytest.mark.parametrize("name", EXPECTED)
def test_sme2_kernels_execute_when_shown_and_none_when_hidden(
    command: Sequence[str], kernel_models: Path, tmp_path: Path, name: str
) -> None:
    model = kernel_models / f"{name}.pte"
    shown, predicted = prove_expected(command, model, tmp_path / "shown")
    hidden = prove(command, model, tmp_path / "hidden", "--hide_isa", "sme2")
    assert "SME2 executed: yes" in shown.verdict
    assert shown.compiled_in is not None
    assert len(shown.compiled_in) > 20
    proven = set()
    for row in shown.operators:
        kind = kind_of(row)
        if row.category in COMPUTE and row.samples > 40 and kind in EXPECTED[name]:
            proven.add(kind)
            expected = Executed.YES if EXPECTED[name][kind] else Executed.NO
            assert (row.name, row.executed) == (row.name, expected)
            if EXPECTED[name][kind]:
                assert any("sme2" in kernel.name for kernel in row.kernels)
            else:  # A sample at the border of two operators can be its neighbour's.
                assert "sme" not in row.kernels[0].name
            assert (predicted_family(predicted, row) == "SME2") is EXPECTED[name][kind]
    assert proven == set(EXPECTED[name])
    assert "SME2 executed: no" in hidden.verdict
    assert hidden.stray == 0
    assert not any("sme" in kernel.name for row in hidden.operators for kernel in row.kernels)
    assert any("NEON" in row.instructions for row in hidden.operators)
    assert FindingKind.HIDDEN_BUT_EXECUTED not in {f.kind for f in find_kernel_doubts([hidden])}


def kind_of(row: OperatorKernels) -> str:
    return row.name.split(")")[1].split("#")[0].strip() if ")" in row.name else ""


# What a CPU without SME executes, by the group that hides it: the operators that do, and those that do not.
WITHOUT_SME = [
    ("kinds_int8", "i8mm,dot", "i8mm and dot product", {"IGEMM", "GEMM", "Subconv2D"}, {"DWConv"}),
    ("kinds_fp16", "fp16arith", "fp16 arithmetic", {"IGEMM", "GEMM", "DWConv", "Subconv2D"}, set()),
    ("kinds_fp32", "i8mm,dot", "i8mm and dot product", set(), {"IGEMM", "GEMM", "DWConv", "Subconv2D"}),
]


@pytest.mark.parametrize(("name", "group", "label", "does", "does_not"), WITHOUT_SME, ids=[r[0] for r in WITHOUT_SME])
def test_on_a_cpu_without_sme_the_extension_that_was_hidden_is_what_is_proven(
    arm_bundle: Bundle, emulator: str, kernel_models: Path, tmp_path: Path, name: str, group: str, label: str,
    does: set[str], does_not: set[str],
) -> None:  # fmt: skip
    command = (emulator, "-cpu", "max,sme=off", *arm_bundle.command(str(arm_bundle.folder)))
    model = kernel_models / f"{name}.pte"
    hidden = prove(command, model, tmp_path / "hidden", "--hide_isa", group)
    shown, expected = prove_expected(command, model, tmp_path / "shown", elsewhere=[group.split(",")])
    assert (hidden.extension, hidden.shown, hidden.advertised, hidden.stray) == (label, False, True, 0)
    assert hidden.verdict.startswith(f"{label} executed: no")
    assert (shown.extension, shown.shown) == (label, True)
    assert shown.verdict.startswith(f"{label} executed: {'yes' if does else 'no'}")
    rows = [(kind_of(row), row) for row in shown.operators if row.category in COMPUTE]
    assert {kind for kind, row in rows if row.executed is Executed.YES} <= does
    assert {kind for kind, row in rows if row.executed is Executed.NO} <= does_not
    for kind, row in rows:
        classes = ("FP16",) if group == "fp16arith" else ("I8MM", "DotProd")
        assert (predicted_family(expected, row) in classes) is (kind in does)


def test_four_bit_weights_in_blocks_fall_back_and_are_explained(
    command: Sequence[str], kernel_models: Path, tmp_path: Path
) -> None:
    found = prove(command, kernel_models / "products_int4.pte", tmp_path)
    doubts = {f.kind: f.message for f in find_kernel_doubts([found])}
    assert "Its 4-bit weights are stored in groups" in doubts[FindingKind.FELL_BACK]


def test_a_1x1_convolution_in_fp16_falls_back_with_its_reason(
    command: Sequence[str], kernel_models: Path, tmp_path: Path
) -> None:
    found = prove(command, kernel_models / "kinds_fp16.pte", tmp_path)
    pointwise = next(row for row in found.operators if row.name.startswith("Fully Connected (NC, F16)"))
    assert pointwise.executed is Executed.NO
    assert "stored as fp32" in pointwise.reason


def test_workers_are_sampled_under_emulation_and_the_emulator_s_own_threads_are_not(
    command: Sequence[str], kernel_models: Path, tmp_path: Path
) -> None:
    assert prove(command, kernel_models / "kinds_fp32.pte", tmp_path, "--cpu_threads", "2").sampled_threads == 2
