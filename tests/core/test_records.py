"""Records of a report: plain values in the columns of the files, one for each row that the report has."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from etprof.core.kernel_records import list_kernels
from etprof.core.records import describe_verdict, list_categories, list_latencies, list_operators
from etprof.core.report import Report
from etprof.core.rows import KernelUse
from evidence_builder import an_evidence, sampled_operator
from report_builder import a_report, with_kernels


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return with_kernels(a_report(tmp_path))


def test_a_timed_variant_has_one_record_with_every_number_of_its_summary(report: Report) -> None:
    variant = report.variants[1]
    (record,) = list_latencies(variant)
    assert variant.latency is not None
    expected = asdict(variant.latency)
    assert (record.experiment, record.threads) == ("on", 1)
    assert {name: value for name, value in record._asdict().items() if name in expected} == {
        name: value for name, value in expected.items() if name != "block_medians_ms"
    }
    assert list(list_latencies(replace(variant, latency=None))) == []


def test_categories_are_in_the_order_of_the_report_and_add_up(report: Report) -> None:
    variant = report.variants[0]
    records = list(list_categories(variant))
    assert [record.name for record in records] == [row.name for row in variant.categories]
    assert sum(record.share for record in records) == pytest.approx(1.0)
    assert {record.experiment for record in records} == {"off"}


def test_operators_carry_their_kernels_as_text(report: Report) -> None:
    variant = report.variants[1]
    records = list(list_operators(variant))
    assert [(r.identity, r.mean_ms) for r in records] == [(row.identity, row.mean_ms) for row in variant.operators]
    assert {type(record.identity) for record in records} == {str}
    assert {record.kernels for record in records if record.category == "Convolution"} == {"kai_matmul_sme2_mopa"}
    assert {record.kernels for record in records if record.category != "Convolution"} == {""}


def test_each_kernel_of_an_operator_has_a_record_and_an_operator_without_one_has_one_too() -> None:
    kernels = (KernelUse("a", "SME", 30), KernelUse("b", "NEON", 10))
    evidence = an_evidence(sampled_operator("d0.0", "GEMM #1", *kernels), sampled_operator("d0.1", "GEMM #2"))
    records = list(list_kernels(evidence))
    assert [(r.identity, r.kernel, r.instruction_class, r.samples, r.operator_samples) for r in records] == [
        ("d0.0", "a", "SME", 30, 40),
        ("d0.0", "b", "NEON", 10, 40),
        ("d0.1", "", "", 0, 0),
    ]
    assert records[0].instructions == "SME:30 NEON:10"
    assert (records[0].extension_share, records[2].extension_share) == (0.5, None)
    assert (records[0].extension_executed, records[2].extension_executed) == ("yes", "not sampled")


def test_a_verdict_is_a_record_with_or_without_a_speed_up(report: Report) -> None:
    (comparison,) = report.comparisons
    record = describe_verdict(comparison)
    assert comparison.speedup is not None
    assert (record.baseline, record.candidate, record.verdict) == ("off", "on", "faster")
    assert (record.low, record.speedup, record.high) == (
        comparison.speedup.low, comparison.speedup.value, comparison.speedup.high,
    )  # fmt: skip
    unknown = describe_verdict(replace(comparison, speedup=None))
    assert (unknown.low, unknown.speedup, unknown.high, unknown.confidence) == (None, None, None, None)
