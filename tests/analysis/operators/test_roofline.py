"""The roofline by hand: on a CPU of round numbers, for operators whose work is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.operators.roofline import build_roofline
from etprof.core.operators import OperatorId
from etprof.core.peaks import Peaks
from etprof.core.report import VariantReport
from etprof.core.roofline import RooflineRow
from etprof.core.rows import Accounting, KernelUse, OperatorRow
from etprof.core.work import Work
from peaks_builder import exactly, some_peaks
from report_builder import a_report, an_operator, emulated, with_graph, with_roofline

CONVOLUTION = "Convolution (NHWC, F32) IGEMM #1"


def working(
    macs: int,
    count: int,
    *,
    ms: float = 1.0,
    kind: str = "3x3 convolution",
    data_type: str = "fp32",
    operations: int = 0,
) -> OperatorRow:
    """An operator of so many multiply-adds, or operations without any, and so many bytes."""
    whole = 2 * macs or operations
    is_float = data_type.startswith(("fp", "bf"))
    work = Work(
        kind, (), (), (), macs, count, whole if is_float else 0, 0 if is_float else whole, data_type,
    )  # fmt: skip
    return replace(an_operator("d0.0", CONVOLUTION, ms), work=work, kind=kind, module_path="a.b.c")


def place(row: OperatorRow, variant: VariantReport, peaks: Peaks | None = None) -> RooflineRow:
    found = build_roofline(replace(variant, operators=(row,), accounting=None), peaks or some_peaks())
    assert found is not None
    return found.rows[0]


@pytest.fixture
def variant(tmp_path: Path) -> VariantReport:
    return replace(a_report(tmp_path).variants[1], features_hidden=(), threads=1)


def test_an_operator_is_bound_by_the_best_instructions_that_the_variant_could_use(variant: VariantReport) -> None:
    # 100 billion a second: 50 million take half a millisecond. A megabyte comes from the second level in a hundredth.
    point = place(working(50_000_000, 1_000_000), variant)
    assert (point.bound, point.ceiling, point.is_executed) == ("compute", "AVX-512, fp32", False)
    assert point.floor_ms == pytest.approx(0.5)
    assert (point.share_of_ceiling, point.lost_ms) == pytest.approx((0.5, 0.5))
    assert (point.gop_per_s, point.gb_per_s, point.intensity) == pytest.approx((100.0, 1.0, 100.0))
    assert point.ceiling_gop_per_s == pytest.approx(200.0)


def test_hidden_instructions_are_no_ceiling(variant: VariantReport) -> None:
    hidden = replace(variant, features_hidden=("avx512f", "avx512vnni"))
    assert place(working(50_000_000, 1000), hidden).floor_ms == pytest.approx(1.0)
    assert place(working(50_000_000, 1000, data_type="int8"), hidden).ceiling == "AVX2, int8"


def test_no_bound_is_above_what_was_measured(variant: VariantReport) -> None:
    row = replace(working(50_000_000, 1000), kernels=(KernelUse("f", "SSE", 30),))
    point = place(row, variant)
    assert (point.floor_ms, point.lost_ms, point.share_of_ceiling) == (row.mean_ms, 0.0, 1.0)


def test_executed_instructions_are_the_ceiling_where_they_were_sampled(variant: VariantReport) -> None:
    row = replace(working(20_000_000, 1000), kernels=(KernelUse("f", "SSE", 30), KernelUse("g", "scalar", 1)))
    point = place(row, variant)
    assert (point.ceiling, point.is_executed) == ("SSE, fp32", True)
    assert point.floor_ms == pytest.approx(0.8)
    assert point.lost_ms == pytest.approx(0.2)
    unknown = replace(row, kernels=(KernelUse("f", "AMX", 30),))
    assert (place(unknown, variant).ceiling, place(unknown, variant).is_executed) == ("AVX-512, fp32", False)


@pytest.mark.parametrize(
    ("count", "level", "floor_ms"),
    [(30_000, "L1", 0.00015), (1_000_000, "L2", 0.01), (20_000_000, "last level", 0.4), (60_000_000, "memory", 3.0)],
)
def test_data_comes_from_the_smallest_level_that_holds_it(
    count: int, level: str, floor_ms: float, variant: VariantReport
) -> None:
    point = place(working(0, count, kind="transpose", ms=floor_ms), variant)
    assert point.bound == level
    assert point.floor_ms == pytest.approx(floor_ms)
    assert (point.operations, point.ceiling, point.gop_per_s) == (0, "", 0.0)


def test_threads_bring_their_caches_and_their_instructions(variant: VariantReport) -> None:
    two = replace(variant, threads=2)
    assert place(working(0, 2_000_000, kind="copy"), two).bound == "L2"
    assert place(working(50_000_000, 1000), two).floor_ms == pytest.approx(0.25)


def test_a_single_operation_takes_an_instruction_like_a_multiply_add(variant: VariantReport) -> None:
    point = place(working(0, 100, operations=100_000_000, kind="softmax"), variant)
    assert (point.floor_ms, point.ceiling_gop_per_s) == pytest.approx((1.0, 100.0))


def test_what_is_too_short_to_be_limited_is_overhead(variant: VariantReport) -> None:
    assert place(working(10_000, 1000, ms=0.005), variant).bound == "overhead"
    assert place(working(10_000, 1000, ms=0.00012), variant).bound == "compute"


def test_a_reshape_need_not_move_anything(variant: VariantReport) -> None:
    point = place(working(0, 60_000_000, kind="reshape", ms=0.002), variant)
    assert (point.floor_ms, point.bound) == (0.0, "overhead")


def test_only_products_of_matrices_can_use_instructions_for_matrices(variant: VariantReport) -> None:
    peaks = some_peaks({"neon_fp32": 30.0, "sme_fp32": 500.0}, "arm64")
    assert place(working(1_000_000, 1000), variant, peaks).ceiling == "SME FMOPA, fp32"
    assert place(working(1_000_000, 1000, kind="depthwise 3x3"), variant, peaks).ceiling == "NEON, fp32"
    assert place(working(0, 1000, operations=10**6, kind="softmax"), variant, peaks).ceiling == "NEON, fp32"


def test_types_without_instructions_of_their_own_are_computed_as_others(variant: VariantReport) -> None:
    assert place(working(50_000_000, 1000, data_type="fp16"), variant).ceiling == "AVX-512, fp32"
    assert place(working(50_000_000, 1000, data_type="int64"), variant).ceiling == "AVX-512 VNNI, int8"


def test_a_single_fast_pass_is_no_ceiling(variant: VariantReport) -> None:
    peaks = some_peaks()
    wide = tuple(replace(t, gmac_per_s=replace(exactly(125.0), high=900.0)) for t in peaks.throughputs)
    assert place(working(50_000_000, 1000), variant, replace(peaks, throughputs=wide)).floor_ms == pytest.approx(0.4)


def test_operators_of_unknown_work_count_as_nothing(variant: VariantReport) -> None:
    unknown = an_operator("d0.1", "Pack LH (PF32) #1", 0.5)
    rows = (working(50_000_000, 1000), unknown, replace(working(0, 100), identity=unknown.identity, work=None))
    found = build_roofline(replace(variant, operators=rows, accounting=None), some_peaks())
    assert found is not None
    assert (found.mean_ms, found.covered_ms, found.floor_ms) == pytest.approx((2.5, 1.0, 0.5))
    assert build_roofline(replace(variant, operators=(unknown,)), some_peaks()) is None


def test_the_sums_of_a_report_are_those_of_its_rows(tmp_path: Path) -> None:
    for variant in with_roofline(tmp_path).variants:
        found = variant.roofline
        assert found is not None
        assert found.floor_ms == pytest.approx(sum(row.floor_ms for row in found.rows))
        assert found.covered_ms == pytest.approx(sum(row.mean_ms for row in found.rows))
        assert sum(found.bounds_ms.values()) == pytest.approx(found.covered_ms)
        assert [row.lost_ms for row in found.rows] == sorted((row.lost_ms for row in found.rows), reverse=True)
        for groups in found.groups.values():
            assert sum(group.floor_ms for group in groups) == pytest.approx(found.floor_ms)
            assert sum(group.count for group in groups) == len(found.rows)
        assert {group.name for group in found.groups["module"]} >= {"stem.conv", "stem.token", "head"}
        assert [roof.name for roof in found.memory] == ["L1", "L2", "last level", "memory"]


def test_without_peaks_graph_or_times_there_is_none(tmp_path: Path) -> None:
    for report in (a_report(tmp_path), with_graph(tmp_path), emulated(tmp_path)):
        assert [variant.roofline for variant in report.variants] == [None, None]


def test_an_inference_of_several_kinds_counts_each_operator_as_often_as_it_ran(variant: VariantReport) -> None:
    rows = tuple(replace(working(50_000_000, 1000), identity=i, count=n) for i, n in _two_kinds())
    accounting = replace(_accounting(variant), runs=8)
    found = build_roofline(replace(variant, operators=rows, accounting=accounting), some_peaks())
    assert found is not None
    assert found.floor_ms == pytest.approx(0.5 * (6 + 2) / 8)


def _two_kinds() -> list[tuple[OperatorId, int]]:
    return [(OperatorId("s0.d0.0"), 6), (OperatorId("s1.d0.0"), 2)]


def _accounting(variant: VariantReport) -> Accounting:
    assert variant.accounting is not None
    return variant.accounting
