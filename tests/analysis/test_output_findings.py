"""Findings about outputs besides their differences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builders import a_loaded_run, a_plan, a_result, a_session
from etprof.analysis.output_findings import find_output_findings
from etprof.analysis.report import build_report
from etprof.core.findings import FindingKind
from etprof.core.loaded_run import LoadedRun, Outputs
from etprof.core.run import OutputTensor

NUMBERS, BROKEN = np.array([1.0, 2.0]), np.array([np.nan, 2.0])


def a_run(off: Outputs, on: Outputs, types: Sequence[str] = ("float32",), state: tuple[str, ...] = ()) -> LoadedRun:
    outputs = tuple(OutputTensor(dtype, (2,), "0" * 64, f"output_{i}.bin") for i, dtype in enumerate(types))
    results = tuple(a_result(name, i, outputs=outputs) for i in range(2) for name in ("off", "on"))
    return a_loaded_run(a_session(a_plan(), results, state=state), outputs={"off": off, "on": on})


def test_a_good_run_has_none() -> None:
    assert find_output_findings(a_run([NUMBERS], [NUMBERS])) == ()


def test_nan_in_both_variants_is_one_finding_and_not_equality() -> None:
    run = a_run([BROKEN], [BROKEN.copy()])
    (finding,) = find_output_findings(run)
    assert finding.kind is FindingKind.OUTPUTS_NOT_FINITE
    assert finding.message == "off, 1 thread; on, 1 thread: NaN or infinity in output 0 (1 of 2 values)."
    assert finding in build_report(run, title="", created_at="").findings


def test_nan_in_one_variant_is_found_there_and_is_a_difference() -> None:
    report = build_report(a_run([NUMBERS], [BROKEN]), title="", created_at="")
    found = {finding.kind: finding.message for finding in report.findings}
    assert found[FindingKind.OUTPUTS_NOT_FINITE].startswith("on, 1 thread: NaN")
    assert FindingKind.OUTPUTS_DIFFER in found


def test_an_output_that_is_no_number_is_listed_with_its_type() -> None:
    values: list[NDArray[np.float64] | None] = [NUMBERS, None]
    (finding,) = find_output_findings(a_run(values, values, ("float32", "float8_e5m2")))
    assert finding.message.endswith("not compared, since not numbers: output 1 (float8_e5m2).")


def test_state_is_named() -> None:
    (finding,) = find_output_findings(a_run([NUMBERS], [NUMBERS], state=("count, float32 [1]", "sum, float32 [8]")))
    assert finding.kind is FindingKind.KEEPS_STATE
    assert "in 2 tensors: count, float32 [1]; sum, float32 [8]." in finding.message
