"""Findings about sampled variants: each appears when the samples give reason for it, and only then."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.kernels.kernel_doubts import find_kernel_doubts
from etprof.analysis.kernels.missing_kernels import Expected
from etprof.core.findings import FindingKind
from etprof.core.kernel_evidence import Executed, KernelEvidence
from etprof.core.operators import OperatorId
from etprof.core.predictions import CpuLevel, NodePrediction
from graph_builder import a_node
from sample_builder import FIRST, MOPA, PLAIN, SECOND, SEEN, US, a_sampled_trace, met, prove, samples

DEPTHWISE = "Convolution (NHWC, F32) DWConv #1"


def kinds(found: KernelEvidence) -> list[FindingKind]:
    return [finding.kind for finding in find_kernel_doubts([found])]


def test_one_sme_sample_in_an_off_variant_is_a_finding(tmp_path: Path) -> None:
    trace = a_sampled_trace(tmp_path)
    clean = samples(met(100, PLAIN, 20))
    assert kinds(prove(trace, clean, hidden=SEEN)) == []
    stray = samples([*met(100, PLAIN, 20), (205 * US, MOPA)])
    assert kinds(prove(trace, stray, hidden=SEEN)) == [FindingKind.HIDDEN_BUT_EXECUTED]


def test_an_on_variant_without_any_is_a_finding_and_one_with_all_is_none(tmp_path: Path) -> None:
    trace = a_sampled_trace(tmp_path)
    none = prove(trace, samples(met(100, PLAIN, 20), kernel_names=("kai_run_a_sme2_mopa", "kai_run_b_neon")))
    assert kinds(none) == [FindingKind.NOT_EXECUTED]
    assert "its kernels compiled in: 1" in find_kernel_doubts([none])[0].message
    assert kinds(prove(trace, samples(met(100, MOPA, 20) + met(100, MOPA, 120)))) == []


def test_a_cpu_without_the_extension_has_nothing_to_find(tmp_path: Path) -> None:
    assert kinds(prove(a_sampled_trace(tmp_path), samples(met(100, PLAIN, 20)), seen=("neon",))) == []


def test_an_operator_that_fell_back_is_named_with_its_reason(tmp_path: Path) -> None:
    trace = a_sampled_trace(tmp_path, names=(FIRST, DEPTHWISE))
    node = a_node(1, "XNNDepthwiseConv2d")
    prediction = NodePrediction(
        partition=0, node=node, is_compute=True, families={CpuLevel.SME2: "NEON"}, why="Depthwise has no kernel."
    )
    expected = Expected(CpuLevel.SME2, {OperatorId("d0.1"): prediction})
    found = prove(trace, samples(met(100, MOPA, 20) + met(100, PLAIN, 120)), expected=expected)
    (finding,) = find_kernel_doubts([found])
    assert finding.kind is FindingKind.FELL_BACK
    assert f"{DEPTHWISE} (NEON): Depthwise has no kernel." in finding.message


def test_operators_that_fell_back_for_one_reason_are_one_entry(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(100, PLAIN, 20) + met(200, PLAIN, 120)))
    behind = [replace(row, reason="too small") for row in found.operators if row.delegated]
    does = replace(behind[0], identity=OperatorId("d0.2"), executed=Executed.YES, reason="")
    (finding,) = find_kernel_doubts([replace(found, operators=(*behind, does))])
    assert f"2 operators, such as {SECOND} (NEON): too small." in finding.message


@pytest.mark.parametrize(
    ("dropped", "overruns", "expected"),
    [(0, 0, []), (50, 0, [FindingKind.SAMPLES_DROPPED]), (0, 90, [FindingKind.SAMPLES_MISSED])],
)
def test_lost_samples_are_told(tmp_path: Path, dropped: int, overruns: int, expected: list[FindingKind]) -> None:
    content = samples(met(100, MOPA, 20) + met(100, MOPA, 120), dropped=dropped, overruns=overruns)
    assert kinds(prove(a_sampled_trace(tmp_path), content)) == expected


def test_three_samples_are_too_few_to_say_that_it_was_not_executed(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(3, PLAIN, 20)))
    (finding,) = find_kernel_doubts([found])
    assert finding.kind is FindingKind.TOO_FEW_SAMPLES
    assert "3 samples of 2 operators are too few" in finding.message
    assert "num_traced_runs" in finding.advice


def test_what_was_hidden_and_not_executed_is_no_finding_however_the_operators_ran(tmp_path: Path) -> None:
    assert kinds(prove(a_sampled_trace(tmp_path), samples(met(3, PLAIN, 20)), hidden=SEEN)) == []
